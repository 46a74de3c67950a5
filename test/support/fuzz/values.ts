import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import * as fc from 'fast-check';

/** A schema, or an object that one describes. */
export type JsonObject = Readonly<Record<string, unknown>>;

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);

export function asObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

export function propertiesOf(schema: JsonObject): [name: string, schema: JsonObject][] {
  return Object.entries(asObject(schema['properties'])).map(([name, property]) => [name, asObject(property)]);
}

/** The schema errors of a value: JSON Pointer (RFC 6901) and keyword of each. */
export function faultsOf(schema: JsonObject, value: unknown): { pointer: string; keyword: string }[] {
  ajv.validate(schema, value);
  const faults = (ajv.errors ?? []).map(({ instancePath, keyword, params }) => {
    const { missingProperty, additionalProperty } = params as Record<string, string | undefined>;
    const name = missingProperty ?? additionalProperty;
    return { pointer: name === undefined ? instancePath : instancePath + pointerTo(name), keyword };
  });
  return [...faults, ...halvedTexts(value).map((pointer) => ({ pointer, keyword: 'type' }))];
}

/** JSON can escape a lone surrogate, which is not text, although JSON Schema allows it (RFC 8259, section 8.2). */
function halvedTexts(value: unknown, pointer = ''): string[] {
  if (typeof value === 'string') return value.isWellFormed() ? [] : [pointer];
  const parts = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return parts.flatMap(([name, part]) => halvedTexts(part, pointer + pointerTo(name)));
}

function pointerTo(name: string): string {
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** Of one to four bytes in UTF-8, with a meaning in SQL, JSON, LIKE or regular expressions, or of two code points. */
const FILLERS = [...Array.from('xa %_\\"\'\u007f\né中\ufeff\u202e😀\u{10ffff}'), '$1', 'e\u0301'];

/** White space, control characters, and halves of characters. */
const ODD = [...Array.from('\0\u0001 \t\n\u007f\u0085\u00a0\u3000é€😀a"\\'), '\ud800', '\udfff'];

/** Long texts only at the limits of a schema: otherwise they would be most of the data. */
const LONGEST = 60;

const moments = fc.date({ min: new Date('1900-01-01'), max: new Date('2199-01-01'), noInvalidDate: true });
const fractions = fc.constantFrom('', '.1', '.12', '.123', '.1230', '.000000000', '.1234', '.000001');
const zones = fc.constantFrom('Z', '+14:00', '-09:30', '+00:00', '-00:00', 'z', '', '+24:00');
const ODD_TIMES =
  '2026-01-31 12:00:00Z 20260131T120000Z +002026-01-31T12:00:00Z 1769860800 2016-12-31T23:59:60Z 2026-01-31T24:00:00Z ' +
  '2026-01-31T12:60:00Z 2026-01-31T12:00Z 2026-02-30T12:00:00Z 2025-02-29T12:00:00Z 2026-13-01T12:00:00Z';

const FORMATS: Readonly<Record<string, fc.Arbitrary<string>>> = {
  uuid: fc.oneof(fc.uuid(), fc.stringMatching(/^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/)),
  'date-time': fc.oneof(
    fc.tuple(moments, fractions, zones).map(([date, fraction, zone]) => date.toISOString().slice(0, 19) + fraction + zone),
    fc.constantFrom(...ODD_TIMES.split(' '), '2026-01-31 12:00:00Z'),
  ),
};

/** Ways to spoil a word, though some may be right afterwards. */
const SPOILERS: readonly ((word: string) => string)[] = [
  (word) => word.toUpperCase(),
  (word) => word.toLowerCase(),
  (word) => word.slice(1),
  (word) => word.replaceAll('-', ''),
  ...[' *', '* ', '*\0', '*\n', '*0', '{*}'].map((form) => (word: string) => form.replace('*', () => word)),
];

interface TextSchema {
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  format?: string;
  enum?: (string | null)[];
  example?: unknown;
}

/** Texts of all of Unicode, with lengths around both limits: some are valid. */
export function textsNear(schema: JsonObject): fc.Arbitrary<string> {
  const { minLength, maxLength, pattern, format, example, enum: words } = schema as TextSchema;
  const bounds = [minLength, maxLength].filter((bound) => bound !== undefined);
  const lengths = { minLength: Math.min(minLength ?? 0, LONGEST), maxLength: Math.min(maxLength ?? LONGEST, LONGEST) };
  // Of formats that are not known here, the example of the document is one.
  const known = words
    ? fc.constantFrom(...words.filter((word) => word !== null))
    : format && (FORMATS[format] ?? fc.constant(String(example)));
  const spoilt = known && fc.tuple(known, fc.constantFrom(...SPOILERS)).map(([word, spoil]) => spoil(word));
  return fc.oneof(
    ...(['grapheme', 'binary', 'binary-ascii'] as const).map((unit) => fc.string({ unit, ...lengths })),
    fc.string({ unit: fc.constantFrom(...ODD), ...lengths }),
    ...bounds.map((bound) => textsOfLength(fc.constantFrom(-1, 0, 0, 0, 1, 2, 10).map((more) => Math.max(0, bound + more)))),
    ...(pattern ? [fc.stringMatching(new RegExp(pattern, 'u'))] : []),
    ...(known && spoilt ? [known, known, known, spoilt] : []),
  );
}

/** Texts of an exact number of code points. */
function textsOfLength(lengths: fc.Arbitrary<number>): fc.Arbitrary<string> {
  return fc.tuple(fc.constantFrom(...FILLERS), lengths).map(([filler, length]) =>
    Array.from(`x${filler.repeat(length)}`)
      .slice(0, length)
      .join(''),
  );
}

function integersNear({ minimum, maximum }: JsonObject): fc.Arbitrary<number> {
  const [min, max] = [Number(minimum ?? Number.MIN_SAFE_INTEGER), Number(maximum ?? Number.MAX_SAFE_INTEGER)];
  const distances = fc.constantFrom(0, 0, 0, 0, 1, 2, 100, 2 ** 31, 2 ** 53, 1e21, 1e300);
  const beyond = distances.chain((distance) => fc.constantFrom(min - distance, max + distance));
  return fc.oneof(beyond, fc.integer({ min, max }));
}

function listsNear({ items, minItems = 0, maxItems = 5 }: JsonObject): fc.Arbitrary<unknown> {
  const [minLength, maxLength] = [Number(minItems), Number(maxItems)];
  const element = asObject(items);
  return fc.oneof(
    fc.array(valuesOf(element), { minLength, maxLength }),
    fc.array(valuesNear(element), { maxLength: maxLength + 1 }),
  );
}

const NEAR: Readonly<Record<string, (schema: JsonObject) => fc.Arbitrary<unknown>>> = {
  null: () => fc.constant(null),
  boolean: () => fc.boolean(),
  integer: integersNear,
  number: integersNear,
  string: textsNear,
  array: listsNear,
  object: (schema) => fc.oneof(bodiesOf(schema), bodiesNear(schema, fc.string())),
};

/** Values of a schema's types, in its bounds, at them and beyond. */
function valuesOfTypes(schema: JsonObject): fc.Arbitrary<unknown> {
  const makers = [schema['type']].flat().map((type) => NEAR[String(type)]);
  return fc.oneof(
    ...makers.map((make) => {
      if (!make) throw new Error(`It is not known how to make a value of ${JSON.stringify(schema)}: teach values.ts.`);
      return make(schema);
    }),
  );
}

/** Values that a schema may or may not admit; `undefined` is none. */
export function valuesNear(schema: JsonObject): fc.Arbitrary<unknown> {
  const others = fc.constantFrom<unknown>(undefined, null, true, 0, 1.5, -1e300, '', 'x', [], ['x'], {});
  return fc.oneof(others, fc.jsonValue({ maxDepth: 2 }), ...[1, 2, 3, 4].map(() => valuesOfTypes(schema)));
}

/** Values that a schema admits. */
export function valuesOf(schema: JsonObject): fc.Arbitrary<unknown> {
  return valuesOfTypes(schema).filter((value) => faultsOf(schema, value).length === 0);
}

/** Valid bodies, with and without optional properties. */
export function bodiesOf(schema: JsonObject): fc.Arbitrary<unknown> {
  const values = Object.fromEntries(propertiesOf(schema).map(([name, property]) => [name, valuesOf(property)]));
  return fc.record(values, { requiredKeys: (schema['required'] ?? []) as string[], noNullPrototype: true });
}

/** Bodies some of whose properties are wrong, or left out, or unknown: perhaps none, perhaps several. */
export function bodiesNear(schema: JsonObject, names: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  const pairs = propertiesOf(schema).map(([name, property]) =>
    fc.oneof(valuesOf(property), valuesOf(property), valuesNear(property)).map((value) => [name, value] as const),
  );
  const unknown = fc.tuple(names, fc.constantFrom<unknown>(null, 1, 'x', true));
  // As JSON: without undefined properties.
  return fc
    .tuple(fc.tuple(...pairs), fc.array(unknown, { maxLength: 1 }))
    .map(([known, others]) => JSON.parse(JSON.stringify(Object.fromEntries([...known, ...others]))) as unknown);
}

/** Keywords without a rule, or with rules that are checked at nested values. */
const NO_RULES = new Set(
  'default title description example examples deprecated items properties required additionalProperties'.split(' '),
);

/** The rules of a body's properties that none of many bodies breaks: should be none. */
export function unbrokenRules(schema: JsonObject): string[] {
  const samples = fc.sample(bodiesNear(schema, fc.string()), { numRuns: 2000, seed: 1 });
  const faults = samples.flatMap((body) => faultsOf(schema, body));
  const broken = new Set(faults.map(({ pointer, keyword }) => `${pointer} ${keyword}`));
  const rules = propertiesOf(schema).flatMap(([name, property]) =>
    Object.keys(property).flatMap((keyword) => (NO_RULES.has(keyword) ? [] : `${pointerTo(name)} ${keyword}`)),
  );
  return rules.filter((rule) => !broken.has(rule));
}
