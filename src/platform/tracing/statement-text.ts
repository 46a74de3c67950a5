/**
 * What is no word of SQL, each alternative up to the end of the text if it is not closed (PostgreSQL manual, "Lexical Structure"):
 * quoted names, parameters, texts with and without escapes, dollar-quoted texts, comments, and numbers.
 */
const LEXEMES =
  /"(?:[^"]|"")*(?:"|$)|\$\d+|(?:\be'(?:[^'\\]|\\.|'')*|'(?:[^']|'')*)(?:'|$)|\$(?<tag>(?:[a-z_]\w*)?)\$.*?(?:\$\k<tag>\$|$)|--[^\n]*|\/\*.*?(?:\*\/|$)|\b\d[\w.]*/gis;

/** A statement without the values that were written into it instead of being parameters, nor comments. */
export function withoutValues(statement: string): string {
  return statement.replaceAll(LEXEMES, (lexeme: string) => (/^(?:"|\$\d)/.test(lexeme) ? lexeme : '?'));
}

/** The first word of a statement: `SELECT`. */
export function operationOf(statement: string): string {
  return /[a-z]+/i.exec(statement)?.[0].toUpperCase() ?? '';
}

/**
 * What a statement does, and to which table first: `SELECT items`, of which there are few.
 *
 * @param statement - {@link withoutValues}
 */
export function summaryOf(statement: string): string {
  const table = /\b(?:from|into|update|table)\s+(?:only\s+)?"?([a-z_]\w*)/i.exec(statement)?.[1];
  return [operationOf(statement), ...(table === undefined ? [] : [table])].join(' ');
}
