import { reservedWords } from './sql-words.ts';

/** A feature and what it lists, in every spelling that the templates need. */
export interface Names {
  /** `order-lines`: its folder, files and route. */
  plural: string;
  /** `order-line` */
  singular: string;
  /** `OrderLines` */
  Plural: string;
  /** `OrderLine` */
  Singular: string;
  /** `order lines` */
  pluralWords: string;
  /** `Order lines` */
  pluralTitle: string;
  /** `orderLine` */
  camelSingular: string;
  /** `order line` */
  singularWords: string;
  /** `order_lines` */
  table: string;
}

/** PostgreSQL cuts names off at 63 bytes; what is added to that of a table names its indexes. */
const MAXIMUM_LENGTH = 40;

/** Names that mean something else in `src`, in the database or to JavaScript. */
const taken = new Set(['platform', 'migrations', ...reservedWords]);

/**
 * @param plural - as it was typed
 * @param given - singular, where it cannot be told from the plural
 * @throws Error that says what to type instead
 */
export function namesOf(plural: string, given?: string): Names {
  checkSpelling(plural);
  const singular = given ?? singularOf(plural);
  checkSpelling(singular);
  if (plural === singular) {
    throw new Error(`A list of "${plural}" and one of them need two names. Choose others, such as ${plural}-entries.`);
  }
  const table = plural.replaceAll('-', '_');
  if (taken.has(table)) {
    throw new Error(
      `"${plural}" has a meaning already, in the service or in SQL. Choose another name, such as service-${plural}.`,
    );
  }
  const Singular = pascalCase(singular);
  if (Singular in globalThis) {
    throw new Error(`The class ${Singular} is JavaScript's own. Choose another name, such as service-${plural}.`);
  }
  return {
    plural,
    singular,
    Plural: pascalCase(plural),
    Singular,
    camelSingular: Singular.charAt(0).toLowerCase() + Singular.slice(1),
    pluralWords: words(plural),
    pluralTitle: capitalised(words(plural)),
    singularWords: words(singular),
    table,
  };
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

/** English endings, the first that fits; without a replacement it cannot be told from the ending alone. */
const endings: [RegExp, string?][] = [
  [/ies$/, 'y'],
  // Warehouses and causes, not statuses and buses.
  [/(?<=[ao]us)es$/, 'e'],
  [/(?<=ss|us|sh|ch|x)es$/, ''],
  [/(?:ss|us|is)$/],
  [/(?<=..)s$/, ''],
];

function singularOf(plural: string): string {
  const [ending, replacement] = endings.find(([candidate]) => candidate.test(plural)) ?? [];
  if (ending === undefined || replacement === undefined) {
    throw new Error(
      `What one of "${plural}" is called cannot be told. Name in the plural what is to be listed, or say what one of them is: ` +
        `npm run generate -- ${plural} --singular <name>`,
    );
  }
  return plural.replace(ending, replacement);
}

const pascalCase = (name: string): string => name.split('-').map(capitalised).join('');

const words = (name: string): string => name.replaceAll('-', ' ');

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
