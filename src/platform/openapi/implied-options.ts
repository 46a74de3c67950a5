import type { Type } from '@nestjs/common';
import { getSchemaPath } from '@nestjs/swagger';
import { type ClassRule, type Discriminator, discriminatorOf, isNested, nestedClasses } from '../validation/rule.js';
import type { Schema } from './openapi-document.js';

type Implied = (first?: unknown, second?: unknown) => object;

const text: Implied = () => ({ type: 'string' });
const number: Implied = () => ({ type: 'number' });

/** Rules of texts only, of those that have no entry of their own below. */
const TEXTS =
  'contains isAlpha isAlphanumeric isAscii isBase64 isCurrency isDecimal isFqdn isHexadecimal isHexColor isIBAN isIp ' +
  'isISO31661Alpha2 isISO4217CurrencyCode isIso8601 isJson isJwt isLowercase isMilitaryTime isMobilePhone isMongoId ' +
  'isNumberString isPhoneNumber isPostalCode isRFC3339 isSemVer isString isStrongPassword isTimeZone isUppercase ' +
  'isUrl matches';

/** What class-validator's decorators imply of a value, by the names of their rules, from their constraints. */
const IMPLIED: Readonly<Record<string, Implied>> = {
  isBoolean: () => ({ type: 'boolean' }),
  isNumber: number,
  isPositive: number,
  isNegative: number,
  isDivisibleBy: number,
  min: (minimum) => ({ type: 'number', minimum }),
  max: (maximum) => ({ type: 'number', maximum }),
  isInt: () => ({ type: 'integer' }),
  ...Object.fromEntries(TEXTS.split(' ').map((name) => [name, text])),
  isUuid: () => ({ type: 'string', format: 'uuid' }),
  isEmail: () => ({ type: 'string', format: 'email' }),
  isDate: () => ({ type: 'string', format: 'date-time' }),
  isDateString: () => ({ type: 'string', format: 'date-time' }),
  isLength: (minLength, maxLength) => ({ type: 'string', minLength, ...(maxLength !== undefined && { maxLength }) }),
  minLength: (minLength) => ({ type: 'string', minLength }),
  maxLength: (maxLength) => ({ type: 'string', maxLength }),
  arrayNotEmpty: () => ({ minItems: 1 }),
  arrayMinSize: (minItems) => ({ minItems }),
  arrayMaxSize: (maxItems) => ({ maxItems }),
};

/** The values of `@IsEnum()` and `@IsIn()`, which are the last constraint of the rule. */
function valuesOf({ name = '', constraints }: ClassRule): readonly unknown[] {
  return ['isEnum', 'isIn'].includes(name) ? [constraints.at(-1) as unknown].flat() : [];
}

function impliedBy(rules: readonly ClassRule[]): object {
  const implied = rules.map(({ name = '', constraints }) => {
    // Undefined for rules without constraints, despite its type.
    const given = constraints as unknown[] | undefined;
    return IMPLIED[name]?.(...(given ?? []));
  });
  // An integer stays one with `@Min()`, which implies a number.
  const integer = rules.some(({ name }) => name === 'isInt') && { type: 'integer' };
  return Object.assign({}, ...implied, integer) as object;
}

/** The schema that the rules of a value, or of each element of an array, imply; undefined if they imply no type. */
function impliedSchema(rules: readonly ClassRule[]): object | undefined {
  const implied = impliedBy(rules);
  const values = rules.map(valuesOf).find(({ length }) => length > 0);
  const [type, ...others] = new Set(values?.map((value) => typeof value));
  // For values of several types: @nestjs/swagger gives an `enum` a single type, but not below `anyOf`.
  const listed =
    others.length > 0 || type === 'object' ? { type: 'object', anyOf: [{ enum: values }] } : { type, enum: values };
  return values ? { ...listed, ...implied } : 'type' in implied ? implied : undefined;
}

/** The `@ApiProperty` options that the rules of a property imply, but for `required`. */
export function impliedOptions(type: Type<object>, property: string, rules: readonly ClassRule[]): object {
  const reflected: unknown = Reflect.getMetadata('design:type', type.prototype as object, property);
  const isArray =
    reflected === Array || rules.some(({ each, name }) => each || name?.startsWith('array') || name === 'isArray');
  // TypeScript reflects `string | null` as an object.
  const nullable = reflected === Object && rules.some(({ name }) => name === 'isOptional');
  const whole = { ...(isArray && impliedBy(rules.filter(({ each }) => !each))), ...(nullable && { nullable }) };
  const hasParts = rules.some(isNested);
  const discriminator = hasParts ? discriminatorOf(type, property) : undefined;
  if (discriminator) {
    const choice = choiceOf(discriminator);
    return { ...whole, ...(isArray ? { type: 'array', items: choice } : choice) };
  }
  const nested = hasParts ? nestedClasses(type, property).find((each) => each !== Object) : undefined;
  const implied = nested ? { type: nested } : impliedSchema(rules.filter(({ each }) => each || !isArray));
  if (implied) {
    return { ...whole, ...implied, isArray };
  }
  if (isArray) {
    return { ...whole, type: 'array', items: {} };
  }
  return typeof reflected === 'function' ? { type: reflected } : { type: 'object', additionalProperties: true };
}

function choiceOf({ property, subTypes }: Discriminator): Schema {
  const mapping = Object.fromEntries(subTypes.map(({ name, value }) => [name, getSchemaPath(value)]));
  return {
    oneOf: [...new Set(Object.values(mapping))].map(($ref) => ({ $ref })),
    discriminator: { propertyName: property, mapping },
  };
}
