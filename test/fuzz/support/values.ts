import type { ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import * as fc from 'fast-check';

export type JsonObject = Readonly<Record<string, unknown>>;

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);

/** By the text of their schemas, which are made anew for each value. */
const validators = new Map<string, ValidateFunction>();

export function isValid(schema: JsonObject, value: unknown): boolean {
  const key = JSON.stringify(schema);
  const validate = validators.get(key) ?? ajv.compile(schema);
  validators.set(key, validate);
  return validate(value);
}

export function asObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

export function typesOf(schema: JsonObject): readonly unknown[] {
  return [schema['type'] ?? []].flat();
}

export function boundOf(schema: JsonObject, keyword: string, otherwise = 0): number {
  const bound = schema[keyword];
  return typeof bound === 'number' ? bound : otherwise;
}

/** What is left out on purpose. */
export const ABSENT = Symbol('absent');

/** Of one to four bytes in UTF-8, with a meaning in SQL, JSON, LIKE or regular expressions, or of two code points. */
const FILLERS = [...Array.from('a %_\\"\'\u007f\né中\ufeff\u202e😀\u{10ffff}'), '$1', 'e\u0301'];

const ODD = Array.from('\0\u0001 \t\n\u007f\u0085\u00a0\u3000é€😀a"\\');

const ODD_IN_HEADERS = ODD.filter((character) => /^[\t -~\u00a0-\u00ff]$/.test(character));

/** Longer texts only at the bound itself: they would be most of what is sent. */
const LONGEST = 60;

/** Values to look at before deciding whether enough of them pass a filter. */
const SAMPLE = 64;

const moments = fc.date({ min: new Date('1900-01-01'), max: new Date('2199-01-01'), noInvalidDate: true });
const fractions = fc.constantFrom('', '.1', '.12', '.123', '.1230', '.000000000');
const zones = fc.constantFrom('Z', '+14:00', '-09:30', '+00:00', '-00:00');

interface Format {
  valid: fc.Arbitrary<string>;
  /** Valid, and perhaps not in the spelling that a pattern admits. */
  unusual: fc.Arbitrary<string>;
  wrong: fc.Arbitrary<string>;
}

const FORMATS: Readonly<Record<string, Format>> = {
  uuid: {
    valid: fc.stringMatching(/^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/),
    unusual: fc.uuid(),
    wrong: fc
      .tuple(fc.uuid(), fc.string({ maxLength: 40 }))
      .chain(([uuid, text]) =>
        fc.constantFrom(text, uuid.slice(1), `${uuid}0`, `{${uuid}}`, uuid.replaceAll('-', ''), ` ${uuid}`, `${uuid}\n`),
      ),
  },
  'date-time': {
    valid: fc
      .tuple(moments, fractions, zones)
      .map(([date, fraction, zone]) => `${date.toISOString().slice(0, 19)}${fraction}${zone}`),
    unusual: fc
      .constantFrom('12:00:00.1234Z', '12:00:00.000001+01:00', '12:00:00z', '23:59:60Z')
      .chain((time) => fc.constantFrom('T', 't', ' ').map((separator) => `2016-12-31${separator}${time}`)),
    wrong: fc.oneof(
      fc.string(),
      fc.constantFrom('2026-01-31', '12:00:00Z', '20260131T120000Z', '+002026-01-31T12:00:00Z', '1769860800'),
      fc.constantFrom('12:00:00', '24:00:00Z', '12:60:00Z', '12:00:00+24:00', '12:00Z').map((time) => `2026-01-31T${time}`),
      fc.constantFrom('2026-02-30', '2025-02-29', '2026-13-01').map((date) => `${date}T12:00:00Z`),
    ),
  },
};

/** JSON values that a schema admits, up to its bounds. */
export function valuesOf(schema: JsonObject): fc.Arbitrary<unknown> {
  const { minimum: min = Number.MIN_SAFE_INTEGER, maximum: max = Number.MAX_SAFE_INTEGER } = schema as Record<string, number>;
  const byType: Record<string, () => fc.Arbitrary<unknown>> = {
    null: () => fc.constant(null),
    boolean: () => fc.boolean(),
    string: () => textsOf(schema),
    integer: () => fc.oneof(fc.constantFrom(min, max), fc.integer({ min, max })),
  };
  const make = (type: unknown) => {
    const made = byType[String(type)]?.();
    if (!made) throw new Error(`It is not known how to make a value of the type ${String(type)}: teach values.ts.`);
    return made;
  };
  return fc.oneof(...typesOf(schema).map(make));
}

/** Bodies that a schema admits, with and without what is optional. */
export function bodiesOf(schema: JsonObject): fc.Arbitrary<object> {
  const properties = Object.entries(asObject(schema['properties']));
  const values = Object.fromEntries(properties.map(([name, property]) => [name, valuesOf(asObject(property))]));
  return fc.record(values, { requiredKeys: (schema['required'] ?? []) as string[], noNullPrototype: true });
}

/** Texts that a schema admits, of all of Unicode and of all lengths up to both bounds. */
export function textsOf(schema: JsonObject): fc.Arbitrary<string> {
  if (Array.isArray(schema['enum'])) {
    return fc.constantFrom(...schema['enum'].filter((value) => typeof value === 'string'));
  }
  const ofText = { ...schema, type: 'string' };
  const minLength = boundOf(schema, 'minLength');
  const maxLength = Math.min(boundOf(schema, 'maxLength', LONGEST), LONGEST);
  const bounds = ['minLength', 'maxLength'].filter((keyword) => keyword in schema).map((keyword) => boundOf(schema, keyword));
  const { valid, unusual } = FORMATS[String(schema['format'])] ?? {};
  const candidates = [
    ...(typeof schema['pattern'] === 'string' ? [fc.stringMatching(new RegExp(schema['pattern'], 'u'))] : []),
    ...(['grapheme', 'binary', 'binary-ascii'] as const).map((unit) => fc.string({ unit, minLength, maxLength })),
    ...(valid && unusual ? [valid, unusual] : []),
    ...bounds.map((length) => textsOfLength(ofText, length)),
  ];
  return fc.oneof(...candidates.flatMap((texts) => those(texts, (text) => isValid(ofText, text)) ?? []));
}

/** Texts of so many code points that a schema would admit, whatever it says of their length. */
export function textsOfLength(schema: JsonObject, length: number): fc.Arbitrary<string> {
  const { minLength: _minimum, maxLength: _maximum, ...others } = schema;
  const fillers = FILLERS.filter((filler) => isValid(others, `x${filler}`));
  const cut = (text: string) => Array.from(text).slice(0, length).join('');
  // Where the rest of the schema forbids them all, its length cannot be wrong alone.
  return fc.constantFrom(...(fillers.length > 0 ? fillers : FILLERS)).map((filler) => cut(`x${filler.repeat(length)}`));
}

/** Makes values that break one keyword of a schema, and as little else as can be. */
const breakers: Readonly<Record<string, (schema: JsonObject) => fc.Arbitrary<unknown>>> = {
  type: () =>
    fc.oneof(fc.constantFrom<unknown>(null, true, 0, 1.5, -1e300, '', 'x', [], ['x'], {}), fc.jsonValue({ maxDepth: 2 })),
  enum: (schema) =>
    fc.oneof(
      fc.string({ unit: 'grapheme' }),
      textsOf(schema).chain((word) => fc.constantFrom(word.toUpperCase(), `${word} `, ` ${word}`, `${word}\0`, word.slice(1))),
    ),
  minLength: (schema) =>
    fc.integer({ min: 0, max: boundOf(schema, 'minLength', 1) - 1 }).chain((length) => textsOfLength(schema, length)),
  maxLength: (schema) => {
    const longest = boundOf(schema, 'maxLength');
    return fc.constantFrom(1, 1, 1, 2, 10, longest).chain((more) => textsOfLength(schema, longest + more));
  },
  pattern: (schema) => {
    const { unusual } = FORMATS[String(schema['format'])] ?? {};
    const lengths = { minLength: boundOf(schema, 'minLength'), maxLength: Math.min(boundOf(schema, 'maxLength', 20), 20) };
    const odd = [ODD, ODD_IN_HEADERS].map((unit) => fc.string({ unit: fc.constantFrom(...unit), ...lengths }));
    return unusual ?? fc.oneof(...odd);
  },
  minimum: (schema) => beyond(boundOf(schema, 'minimum'), -1),
  maximum: (schema) => beyond(boundOf(schema, 'maximum'), 1),
  format: (schema) => FORMATS[String(schema['format'])]?.wrong ?? fc.constant(null),
};

/** Values that break a keyword and, where that is possible, no other. @throws Error where it is not known how */
export function valuesThatBreak(keyword: string, schema: JsonObject): fc.Arbitrary<unknown> {
  if (keyword === 'required') {
    return fc.constant(ABSENT);
  }
  const { [keyword]: rule, ...others } = schema;
  const candidates = breakers[keyword]?.(schema);
  const broken = candidates && those(candidates, (value) => !isValid({ [keyword]: rule }, value));
  if (!broken) {
    throw new Error(`It is not known how to break "${keyword}" of ${JSON.stringify(schema)}: teach values.ts.`);
  }
  return those(broken, (value) => isValid(others, value)) ?? broken;
}

function beyond(bound: number, sign: 1 | -1): fc.Arbitrary<number> {
  return fc
    .oneof(fc.constantFrom(1, 1, 2, 100), fc.integer({ min: 1, max: 2 ** 31 }), fc.constantFrom(2 ** 53, 1e21, 1e300))
    .map((distance) => bound + sign * distance);
}

/** Those values that pass; undefined where few do: the search would not come to an end. */
export function those<T>(values: fc.Arbitrary<T>, pass: (value: T) => boolean): fc.Arbitrary<T> | undefined {
  const found = fc.sample(values, { numRuns: SAMPLE, seed: 1 }).filter(pass);
  return found.length >= SAMPLE / 16 ? values.filter(pass) : undefined;
}
