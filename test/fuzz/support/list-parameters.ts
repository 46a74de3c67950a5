import * as fc from 'fast-check';

// What the platform says of the parameters of every list in words alone: a cursor is opaque, and a filter has a grammar.

/** What ends a good filter badly, or begins it so: most of it is refused by CEL, the rest by what lists support of it. */
const SPOILT: readonly ((filter: string) => string)[] = [
  (filter) => `${filter} &&`,
  (filter) => `|| ${filter}`,
  (filter) => `(${filter}`,
  (filter) => `${filter})`,
  (filter) => `${filter} ${filter}`,
  (filter) => `${filter} and ${filter}`,
  (filter) => `${filter} ? true : false`,
  (filter) => `${filter} && nothingOfThatName == "x"`,
  (filter) => `${filter} && 1 + 1 == 2`,
  (filter) => `${filter} && "unterminated`,
  (filter) => `${filter} && createdAt == "2026-01-01T00:00:00Z"`,
  (filter) => `${filter} && createdAt > timestamp("yesterday")`,
  (filter) => `${filter} && createdAt`,
  (filter) => `${filter}; DROP TABLE items`,
  (filter) => `${filter} -- `,
  (filter) => `${filter} && "\0" == "\0"`,
  (filter) => Array.from({ length: 33 }, () => filter).join('||'),
  (filter) => `${'!('.repeat(17)}${filter}${')'.repeat(17)}`,
  (filter) => `[${filter}][0]`,
  (filter) => `{"a": ${filter}}.a`,
  (filter) => `this.${filter}`,
];

/** Filters that are refused for their length, or for anything else. */
export function filtersThatBreak(keyword: string, maximum: number, examples: readonly string[]): fc.Arbitrary<string> {
  const good = fc.constantFrom(...examples.filter((example) => example !== ''));
  return keyword === 'maxLength'
    ? fc
        .tuple(good, fc.integer({ min: 1, max: 50 }), fillers)
        .map(([filter, more, filler]) => padded(filter, maximum + more, filler))
    : fc.tuple(good, fc.constantFrom(...SPOILT)).map(([filter, spoil]) => spoil(filter));
}

/** Filters of exactly so many code points. */
export function longestFilters(maximum: number, examples: readonly string[]): fc.Arbitrary<string> {
  const good = fc.constantFrom(...examples.filter((example) => example !== ''));
  return fc.tuple(good, fillers).map(([filter, filler]) => padded(filter, maximum, filler));
}

/** Texts that are no cursor of a list without a filter. */
export function cursorsThatBreak(cursors: readonly string[], maximum: number): fc.Arbitrary<string> {
  const good = fc.constantFrom(...cursors);
  return fc
    .oneof(
      fc.string({ unit: 'grapheme', maxLength: maximum }),
      fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes).toString('base64url')),
      fc
        .tuple(good, fc.nat(43), fc.constantFrom('A', '_', '=', '', 'é'))
        .map(([cursor, at, other]) => cursor.slice(0, at) + other + cursor.slice(at + 1)),
      good.map((cursor) => `${cursor}=`),
      good.map((cursor) => ` ${cursor}`),
      good.map((cursor) => cursor.toLowerCase()),
    )
    .filter((text) => !cursors.includes(text));
}

/** No line feed: it would end the comment. */
const fillers = fc.constantFrom(' ', 'x', 'é', '😀');

/** A comment fills it up, most of it with a character that is short in a URL. */
function padded(filter: string, length: number, filler: string): string {
  const comment = `${filter} //${filler.repeat(50)}`;
  return comment + 'x'.repeat(length - Array.from(comment).length);
}
