import * as fc from 'fast-check';
import type { JsonObject } from './json.js';
import { boundOf, isValid } from './schemas.js';
import { those } from './those.js';
import { textsOfLength } from './valid-texts.js';
import { leafValues } from './valid-values.js';

/** Makes values that break one keyword of a schema, and as little else as can be. */
type Breaker = (schema: JsonObject) => fc.Arbitrary<unknown>;

/** What is left out on purpose. */
export const ABSENT = Symbol('absent');

/** Characters that patterns have an opinion on. */
const ODD = ['\0', '\u0001', ' ', '\t', '\n', '\u007f', '\u0085', '\u00a0', '\u3000', 'é', '€', '😀', 'a', '"', '\\'];

/** Of which headers are made. */
const LATIN_1 = /^[\t -~\u00a0-\u00ff]$/;

const WRONG_TIMES = [
  '2026-01-31',
  '12:00:00Z',
  '2026-01-31T12:00:00',
  '2026-02-30T12:00:00Z',
  '2025-02-29T12:00:00Z',
  '2026-13-01T12:00:00Z',
  '2026-01-31T24:00:00Z',
  '2026-01-31T12:60:00Z',
  '2026-01-31T12:00:00+24:00',
  '2026-01-31T12:00Z',
  '20260131T120000Z',
  '+002026-01-31T12:00:00Z',
  'Sat, 31 Jan 2026 12:00:00 GMT',
  '1769860800',
];

/** Of a format, and not in the spelling that most use. */
const UNUSUAL: Readonly<Record<string, readonly string[]>> = {
  'date-time': [
    '2026-01-31T12:00:00.1234Z',
    '2026-01-31T12:00:00.000001+01:00',
    '2026-01-31t12:00:00Z',
    '2026-01-31T12:00:00z',
    '2026-01-31 12:00:00Z',
    '2016-12-31T23:59:60Z',
  ],
};

const formats: Readonly<Record<string, readonly fc.Arbitrary<string>[]>> = {
  'date-time': [fc.constantFrom(...WRONG_TIMES), fc.string()],
  uuid: [
    fc.string({ maxLength: 40 }),
    fc
      .uuid()
      .chain((uuid) =>
        fc.constantFrom(
          uuid.slice(1),
          `${uuid}0`,
          `{${uuid}}`,
          uuid.replaceAll('-', ''),
          uuid.replace(/.$/, 'g'),
          ` ${uuid}`,
          `${uuid}\n`,
        ),
      ),
  ],
};

const breakers: Readonly<Record<string, Breaker>> = {
  type: () =>
    fc.oneof(fc.constantFrom<unknown>(null, true, 0, 1.5, -1e300, '', 'x', [], ['x'], {}), fc.jsonValue({ maxDepth: 2 })),
  enum: (schema) =>
    fc.oneof(
      fc.string({ unit: 'grapheme' }),
      leafValues(schema).chain((word) => fc.constantFrom(...spellings(String(word)))),
    ),
  minLength: (schema) =>
    fc.integer({ min: 0, max: boundOf(schema, 'minLength', 1) - 1 }).chain((length) => textsOfLength(schema, length)),
  maxLength: (schema) => {
    const longest = boundOf(schema, 'maxLength', 0);
    return fc.constantFrom(1, 1, 1, 2, 10, longest).chain((more) => textsOfLength(schema, longest + more));
  },
  pattern: (schema) => {
    const lengths = { minLength: boundOf(schema, 'minLength', 0), maxLength: Math.min(boundOf(schema, 'maxLength', 20), 20) };
    return typeof schema['format'] === 'string'
      ? fc.constantFrom(...(UNUSUAL[schema['format']] ?? []))
      : fc.oneof(
          ...[ODD, ODD.filter((character) => LATIN_1.test(character))].map((unit) =>
            fc.string({ unit: fc.constantFrom(...unit), ...lengths }),
          ),
        );
  },
  minimum: (schema) => beyond(schema, 'minimum', -1),
  maximum: (schema) => beyond(schema, 'maximum', 1),
  format: (schema) => fc.oneof(...(formats[String(schema['format'])] ?? [fc.constant(null)])),
};

/** Values that break a keyword and, where that is possible, no other; undefined where it is not known how to make them. */
export function valuesThatBreak(keyword: string, schema: JsonObject): fc.Arbitrary<unknown> | undefined {
  if (keyword === 'required') {
    return fc.constant(ABSENT);
  }
  const { [keyword]: rule, ...others } = schema;
  const candidates = breakers[keyword]?.(schema);
  const broken = candidates && those(candidates, (value) => !isValid({ [keyword]: rule }, value));
  return broken && (those(broken, (value) => isValid(others, value)) ?? broken);
}

function beyond(schema: JsonObject, keyword: string, sign: 1 | -1): fc.Arbitrary<number> {
  const bound = boundOf(schema, keyword, 0);
  return fc
    .oneof(fc.constantFrom(1, 1, 2, 100), fc.integer({ min: 1, max: 2 ** 31 }), fc.constantFrom(2 ** 53, 1e21, 1e300))
    .map((distance) => bound + sign * distance);
}

function spellings(word: string): string[] {
  return [word.toUpperCase(), `${word} `, ` ${word}`, `${word}\0`, word.slice(1), `${word}${word}`, `${word},${word}`];
}
