import * as fc from 'fast-check';
import { generateSync } from 'json-schema-faker';
import type { JsonObject } from './json.js';
import { boundOf, isValid } from './schemas.js';
import { unusual } from './unusual-texts.js';
import { those } from './those.js';

/** Of one, two, three and four bytes in UTF-8, with a meaning in SQL, JSON, LIKE or regular expressions, or in two code points. */
const FILLERS = [
  'a',
  ' ',
  '%',
  '_',
  '\\',
  '"',
  "'",
  '$1',
  '\u007f',
  '\n',
  'é',
  'e\u0301',
  '中',
  '\ufeff',
  '\u202e',
  '😀',
  '\u{10ffff}',
];

/** Longer ones only at the bound itself: they would be most of what is sent. */
const LONGEST = 60;

/** Whatever a seed makes of a schema. The seed comes from fast-check, so that a run can be repeated. */
export function seeded(schema: JsonObject): fc.Arbitrary<unknown> {
  return fc.integer({ min: 1, max: 0x7fff_ffff }).map((seed) => generateSync(schema, { seed }));
}

/**
 * Texts that a schema admits, of all of Unicode and of all lengths up to both bounds. What json-schema-faker makes of a pattern is
 * short ASCII.
 */
export function textsOf(schema: JsonObject): fc.Arbitrary<string> {
  if (Array.isArray(schema['enum'])) {
    return fc.constantFrom(...(schema['enum'] as string[]));
  }
  const ofText = { ...schema, type: 'string' };
  const minLength = boundOf(schema, 'minLength', 0);
  const maxLength = Math.min(boundOf(schema, 'maxLength', LONGEST), LONGEST);
  const random = (['grapheme', 'binary', 'binary-ascii'] as const).map((unit) => fc.string({ unit, minLength, maxLength }));
  const bounds = ['minLength', 'maxLength'].filter((keyword) => keyword in schema).map((keyword) => boundOf(schema, keyword, 0));
  const candidates = [
    seeded(ofText) as fc.Arbitrary<string>,
    ...(typeof schema['pattern'] === 'string' ? [fc.stringMatching(new RegExp(schema['pattern'], 'u'))] : []),
    ...random,
    ...(unusual[String(schema['format'])] ?? []),
  ];
  const valid = (texts: fc.Arbitrary<string>) => those(texts, (text) => isValid(ofText, text)) ?? [];
  return fc.oneof(
    ...candidates.flatMap(valid).map((arbitrary) => ({ arbitrary, weight: 4 })),
    ...bounds.flatMap((length) => valid(textsOfLength(ofText, length))).map((arbitrary) => ({ arbitrary, weight: 1 })),
  );
}

/** Texts of so many code points that a schema would admit, whatever it says of their length. */
export function textsOfLength(schema: JsonObject, length: number): fc.Arbitrary<string> {
  const { minLength: _minimum, maxLength: _maximum, ...others } = schema;
  const fillers = FILLERS.filter((filler) => isValid(others, `x${filler}`));
  // Where the rest of the schema forbids them all, its length cannot be wrong alone.
  return fc
    .constantFrom(...(fillers.length > 0 ? fillers : FILLERS))
    .map((filler) => firstOf(`x${filler.repeat(length)}`, length));
}

/** So many code points. */
function firstOf(text: string, count: number): string {
  return Array.from(text).slice(0, count).join('');
}
