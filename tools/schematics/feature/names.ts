import { strings } from '@angular-devkit/schematics';

/** What a feature lists, and one of it, in lower case with hyphens. */
export interface Names {
  /** `order-lines`: also its folder, files and route. */
  plural: string;
  /** `order-line` */
  singular: string;
}

/** PostgreSQL cuts names off at 63 bytes, and names of indexes begin with that of their table. */
const MAXIMUM_LENGTH = 40;

/** English endings of plurals, of which the first that fits counts; without a replacement the singular must be given. */
const ENDINGS: readonly [ending: RegExp, replacement?: string][] = [
  [/ies$/, 'y'],
  // Warehouses and causes, not statuses and buses.
  [/(?<=[ao]us)es$/, 'e'],
  [/(?<=ss|us|sh|ch|x)es$/, ''],
  [/(?:ss|us|is)$/],
  [/(?<=..)s$/, ''],
];

/**
 * @param plural - as it was typed
 * @param given - singular, if it cannot be derived from the plural
 * @throws Error that says what to type instead
 */
export function namesOf(plural: string, given?: string): Names {
  checkSpelling(plural);
  const singular = given ?? singularOf(plural);
  checkSpelling(singular);
  if (plural === singular) {
    throw new Error(`A list of "${plural}" and one of them need two names. Choose others, such as ${plural}-entries.`);
  }
  if (['platform', 'migrations'].includes(plural)) {
    throw new Error(`"${plural}" has a meaning already. Choose another name, such as service-${plural}.`);
  }
  if (strings.classify(singular) in globalThis) {
    throw new Error(
      `The class ${strings.classify(singular)} is JavaScript's own. Choose another name, such as service-${plural}.`,
    );
  }
  return { plural, singular };
}

function checkSpelling(name: string): void {
  if (!/^[a-z][a-z\d]*(?:-[a-z][a-z\d]*)*$/.test(name)) {
    throw new Error(
      `"${name}" is no name: write words in lower case, joined by hyphens, each with a letter first, like order-lines.`,
    );
  }
  if (name.length > MAXIMUM_LENGTH) {
    throw new Error(`"${name}" is too long: choose a name of at most ${MAXIMUM_LENGTH} characters.`);
  }
}

function singularOf(plural: string): string {
  const [ending, replacement] = ENDINGS.find(([candidate]) => candidate.test(plural)) ?? [];
  if (ending === undefined || replacement === undefined) {
    throw new Error(
      `The singular of "${plural}" is unknown. Name what is listed in the plural, or give the singular: ` +
        `npm run generate -- ${plural} --singular <name>`,
    );
  }
  return plural.replace(ending, replacement);
}
