import { isDeepStrictEqual } from 'node:util';
import { asList, isObject, isPartOf } from './json.ts';

/** Whether the wider of two schemas admits, as far as one keyword goes, all that the narrower one does. */
type Widens = (wider: unknown, narrower: unknown) => boolean;

const ANNOTATIONS: ReadonlySet<string> = new Set([
  'title',
  'description',
  'summary',
  'example',
  'examples',
  'deprecated',
  'externalDocs',
  '$comment',
]);

const always: Widens = () => true;
const onlyWhenAbsent: Widens = (wider) => wider === undefined;
const upTo: Widens = (wider, narrower) => number(wider, Infinity) >= number(narrower, Infinity);
const downTo: Widens = (wider, narrower) => number(wider, -Infinity) <= number(narrower, -Infinity);
const downToNone: Widens = (wider, narrower) => number(wider, 0) <= number(narrower, 0);

/** None, or as many alternatives: whether each admits what it did is compared beyond this. */
const alternatives: Widens = (wider, narrower) =>
  wider === undefined || (narrower !== undefined && asList(wider).length >= asList(narrower).length);

const KEYWORDS: Readonly<Record<string, Widens>> = {
  type: (wider, narrower) =>
    wider === undefined || (narrower !== undefined && isPartOf(typesOf(narrower), withIntegers(typesOf(wider)))),
  enum: (wider, narrower) => wider === undefined || (narrower !== undefined && isPartOf(asList(narrower), asList(wider))),
  const: onlyWhenAbsent,
  pattern: onlyWhenAbsent,
  multipleOf: onlyWhenAbsent,
  uniqueItems: (wider) => wider !== true,
  maximum: upTo,
  exclusiveMaximum: upTo,
  maxLength: upTo,
  maxItems: upTo,
  maxProperties: upTo,
  minimum: downTo,
  exclusiveMinimum: downTo,
  minLength: downToNone,
  minItems: downToNone,
  minProperties: downToNone,
  required: (wider, narrower) => isPartOf(asList(wider), asList(narrower)),
  anyOf: alternatives,
  oneOf: alternatives,
  allOf: (wider, narrower) => asList(wider).length <= asList(narrower).length,
  additionalProperties: (wider, narrower) =>
    wider === undefined || wider === true || narrower === false || (isObject(wider) && isObject(narrower)),
  // What they contain is compared.
  items: always,
  properties: always,
};

/** Whether a keyword is for people and other tools, and says nothing of what is valid. */
export function isAnnotation(keyword: string): boolean {
  return ANNOTATIONS.has(keyword) || keyword.startsWith('x-');
}

/**
 * Whether a change of a keyword widens a schema, or leaves it as wide. A keyword that is not known here may not change: `format`,
 * for one, decides which type a generated client has for a value, and `oneOf` which class.
 */
export function widens(keyword: string, wider: unknown, narrower: unknown): boolean {
  return isAnnotation(keyword) || isDeepStrictEqual(wider, narrower) || KEYWORDS[keyword]?.(wider, narrower) === true;
}

function number(value: unknown, absent: number): number {
  return typeof value === 'number' ? value : absent;
}

function typesOf(type: unknown): readonly unknown[] {
  return Array.isArray(type) ? asList(type) : [type];
}

function withIntegers(types: readonly unknown[]): readonly unknown[] {
  return types.includes('number') ? [...types, 'integer'] : types;
}
