import { strings } from '@angular-devkit/schematics';
import pluralize from 'pluralize';

/** What a feature lists, and one of it, in lower case with hyphens: `order-lines` and `order-line`. */
export interface Names {
  plural: string;
  singular: string;
}

/** PostgreSQL cuts names off at 63 bytes, and names of indexes begin with that of their table. */
const SPELLING = /^(?=.{1,40}$)[a-z][a-z\d]*(?:-[a-z][a-z\d]*)*$/;

/** Names that mean something else in the folder of a feature, in the files that are generated, or in the database. */
const TAKEN =
  /^(?:platform|migrations|lists|access-token|arguments|body|column|controller|database|delete|entity|get|idempotency-key|if-match|implements|module|operation|page|page-query|param|patch|post|precondition|problem|query|repository|row|section|text|uuid)$/;

/**
 * @param plural - as it was typed
 * @param given - singular, if it cannot be derived from the plural
 * @throws Error that says what to type instead
 */
export function namesOf(plural: string, given?: string): Names {
  if (plural === given) {
    throw new Error(`"${plural}" cannot name both a list and one of it. Choose another singular, such as ${plural}-item.`);
  }
  const singular = given ?? (SPELLING.test(plural) ? singularOf(plural) : plural);
  for (const name of [plural, singular]) {
    if (!SPELLING.test(name)) {
      const rule = 'at most 40 lower-case letters and digits, words joined by hyphens, each with a letter first';
      throw new Error(`"${name}" is not valid: use ${rule}, like order-lines.`);
    }
    if (TAKEN.test(name) || strings.classify(name) in globalThis) {
      throw new Error(`"${name}" is reserved. Choose another name, such as service-${plural}.`);
    }
  }
  return { plural, singular };
}

function singularOf(plural: string): string {
  // Of the last word alone: the library knows words such as series.
  const singular = plural.replace(/[^-]+$/, (word) => pluralize.singular(word));
  if (singular === plural) {
    throw new Error(`The singular of "${plural}" is unknown: npm run generate -- ${plural} --singular <name>`);
  }
  return singular;
}
