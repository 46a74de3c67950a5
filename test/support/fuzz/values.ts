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

function propertiesOf(schema: JsonObject): [name: string, schema: JsonObject][] {
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

/** Of one to four bytes in UTF-8, with a meaning in SQL, JSON or LIKE, white space, control characters, and halves of characters. */
const UNITS = [
  ...Array.from('xé中😀\u{10ffff}\ufeff\u202e%_\\"\' \t\n\u00a0\u3000\0\u0001\u007f'),
  'e\u0301',
  '$1',
  '\ud800',
];

/** Long texts only at the limits of a schema: otherwise they would be most of the data. */
const LONGEST = 60;

/** Ways to spoil a word, though some may be right afterwards. */
const SPOILERS: readonly ((word: string) => string)[] = [
  (word) => word.toUpperCase(),
  (word) => word.slice(1),
  ...[' *', '*\0', '*\n', '*0', '{*}'].map((form) => (word: string) => form.replace('*', () => word)),
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
  const { minLength = 0, maxLength = LONGEST, pattern, enum: words } = schema as TextSchema;
  const lengths = [minLength - 1, minLength, maxLength, maxLength + 1].filter((length) => length >= 0);
  const exact = fc.tuple(fc.constantFrom(...UNITS), fc.constantFrom(...lengths)).map(([unit, length]) =>
    Array.from(`x${unit.repeat(length)}`)
      .slice(0, length)
      .join(''),
  );
  const short = { minLength: Math.min(minLength, LONGEST), maxLength: Math.min(maxLength, LONGEST) };
  const known = words ? fc.constantFrom(...words.filter((word) => word !== null)) : textsInFormat(schema);
  return fc.oneof(
    fc.string({ unit: 'binary', ...short }),
    fc.string({ unit: fc.constantFrom(...UNITS), ...short }),
    exact,
    ...(pattern ? [fc.stringMatching(new RegExp(pattern, 'u'))] : []),
    ...(known ? [known, known, fc.tuple(known, fc.constantFrom(...SPOILERS)).map(([word, spoil]) => spoil(word))] : []),
  );
}

/** Of a format that is not known here, the example of the document is one. */
function textsInFormat({ format, example }: TextSchema): fc.Arbitrary<string> | undefined {
  if (format === undefined) return undefined;
  return format === 'uuid' ? fc.uuid() : fc.constant(String(example));
}

function integersNear({ minimum, maximum }: JsonObject): fc.Arbitrary<number> {
  const [min, max] = [Number(minimum ?? Number.MIN_SAFE_INTEGER), Number(maximum ?? Number.MAX_SAFE_INTEGER)];
  const distances = fc.constantFrom(0, 0, 0, 1, 2 ** 31, 2 ** 53, 1e300);
  return fc.oneof(
    distances.chain((distance) => fc.constantFrom(min - distance, max + distance)),
    fc.integer({ min, max }),
  );
}

/** At most so many elements unless a schema has a limit, and lists around both limits: some are valid. */
const FEW = 3;

function listsNear({ items, minItems = 0, maxItems = FEW }: JsonObject): fc.Arbitrary<unknown> {
  const [item, min, max] = [asObject(items), Number(minItems), Number(maxItems)];
  const lengths = fc.constantFrom(min, max, max + 1, ...(min > 0 ? [min - 1] : []));
  const equal = fc.tuple(valuesOf(item), lengths).map(([value, length]) => Array(length).fill(value) as unknown[]);
  const values = fc.oneof(valuesOf(item), valuesOfTypes(item), valuesNear(item));
  return fc.oneof(equal, fc.array(values, { minLength: min, maxLength: Math.max(min, Math.min(max, FEW)) }));
}

/** Objects whose parts are wrong, or left out: unknown ones only where the schema says that they are wrong. */
function objectsNear(schema: JsonObject): fc.Arbitrary<unknown> {
  return bodiesNear(schema, schema['additionalProperties'] === false ? fc.constantFrom('other', 'toString') : undefined);
}

const NEAR: Readonly<Record<string, (schema: JsonObject) => fc.Arbitrary<unknown>>> = {
  any: () => fc.jsonValue({ maxDepth: 2 }),
  array: listsNear,
  object: objectsNear,
  null: () => fc.constant(null),
  boolean: () => fc.boolean(),
  integer: integersNear,
  number: integersNear,
  string: textsNear,
};

/** The schemas that a value may match, with what all of them have in common. */
function variantsOf(schema: JsonObject): JsonObject[] {
  const { allOf = [], anyOf, oneOf, ...own } = schema as Record<'allOf' | 'anyOf' | 'oneOf', JsonObject[] | undefined>;
  const common: JsonObject = Object.fromEntries([...allOf, own].flatMap((part) => Object.entries(part)));
  const choices = anyOf ?? oneOf ?? [{}];
  const types = choices.flatMap((choice) => {
    const variant: JsonObject = { ...common, ...choice };
    return [variant['type']].flat().map((type): JsonObject => Object.assign({}, variant, { type }));
  });
  return allOf.length === 0 && choices.length === 1 ? types : types.flatMap(variantsOf);
}

/** Values of a schema's types, in its bounds, at them and beyond. */
function valuesOfTypes(schema: JsonObject): fc.Arbitrary<unknown> {
  return fc.oneof(
    ...variantsOf(schema).map((variant) => {
      const { type = 'any' } = variant as { type?: string };
      const make = NEAR[type];
      if (!make) throw new Error(`It is not known how to make a value of ${JSON.stringify(schema)}: teach values.ts.`);
      return make(variant);
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
  const values = variantsOf(schema).map((variant) => {
    if (variant['type'] === 'object') return bodiesOf(variant);
    const { items, minItems = 0, maxItems = FEW } = variant;
    const limits = { minLength: Number(minItems), maxLength: Math.max(Number(minItems), Math.min(Number(maxItems), FEW)) };
    return variant['type'] === 'array' ? fc.array(valuesOf(asObject(items)), limits) : valuesOfTypes(variant);
  });
  return fc.oneof(...values).filter((value) => faultsOf(schema, value).length === 0);
}

/** Valid bodies, with and without optional properties. */
function bodiesOf(schema: JsonObject): fc.Arbitrary<unknown> {
  const values = Object.fromEntries(propertiesOf(schema).map(([name, property]) => [name, valuesOf(property)]));
  return fc.record(values, { requiredKeys: (schema['required'] ?? []) as string[], noNullPrototype: true });
}

/** Bodies some of whose properties are wrong, or left out, or have one of the names: perhaps none, perhaps several. */
export function bodiesNear(schema: JsonObject, names?: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  const pairs = propertiesOf(schema).map(([name, property]) =>
    fc.oneof(valuesOf(property), valuesOf(property), valuesNear(property)).map((value) => [name, value] as const),
  );
  const unknown = fc.tuple(names ?? fc.constant(''), fc.constantFrom<unknown>(null, 1, 'x', true));
  // As JSON: without undefined properties.
  return fc
    .tuple(fc.tuple(...pairs), fc.array(unknown, { maxLength: names ? 1 : 0 }))
    .map(([known, others]) => JSON.parse(JSON.stringify(Object.fromEntries([...known, ...others]))) as unknown);
}

/** Keywords without a rule of their own. */
const NOTES = 'default title description example examples deprecated'.split(' ');
const PARTS = 'allOf anyOf oneOf items properties required additionalProperties'.split(' ');
const NO_RULES = new Set([...NOTES, ...PARTS]);

/** The pointer and keyword of each rule, below lists with an asterisk. */
function rulesOf(schema: JsonObject, pointer: string): string[] {
  const own = Object.keys(schema).filter((keyword) => !NO_RULES.has(keyword));
  const parts = propertiesOf(schema).flatMap(([name, property]) => rulesOf(property, pointer + pointerTo(name)));
  const items = schema['items'] === undefined ? [] : rulesOf(asObject(schema['items']), `${pointer}/*`);
  return [...own.map((keyword) => `${pointer} ${keyword}`), ...parts, ...items];
}

/** The rules of a body's properties, or of those of its elements, that none of many bodies breaks: should be none. */
export function unbrokenRules(schema: JsonObject): string[] {
  if (schema['type'] === 'array') return unbrokenRules(asObject(schema['items']));
  const samples = fc.sample(bodiesNear(schema, fc.string()), { numRuns: 2000, seed: 1 });
  const faults = samples.flatMap((body) => faultsOf(schema, body));
  const broken = new Set(faults.map(({ pointer, keyword }) => `${pointer.replaceAll(/\/\d+(?=\/|$)/g, '/*')} ${keyword}`));
  return propertiesOf(schema)
    .flatMap(([name, property]) => rulesOf(property, pointerTo(name)))
    .filter((rule) => !broken.has(rule));
}
