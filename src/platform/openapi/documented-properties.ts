import type { Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions, DECORATORS, getSchemaPath } from '@nestjs/swagger';
import { ValidationTypes } from 'class-validator';
import { OperatorError } from '../errors/operator-error.js';
import { type ClassRule, type Discriminator, discriminatorOf, isObject, nestedClasses } from '../validation/rule.js';
import type { Schema } from './openapi-document.js';

/** The `@ApiProperty` options of a class by property, including inherited ones. */
export function documentedProperties({ prototype }: Type<object>): Record<string, ApiPropertyOptions> {
  const target = prototype as object;
  const keys = (Reflect.getMetadata(DECORATORS.API_MODEL_PROPERTIES_ARRAY, target) ?? []) as string[];
  // Each key is a name after a colon.
  const names = keys.map((key) => key.slice(1));
  const optionsOf = (name: string): unknown => Reflect.getMetadata(DECORATORS.API_MODEL_PROPERTIES, target, name);
  return Object.fromEntries(names.map((name) => [name, optionsOf(name) as ApiPropertyOptions]));
}

/**
 * Adds a class, the classes of its properties, and its further models.
 *
 * @param type - as in `@ApiProperty`: `Pet`, `[Pet]` or `() => Pet`
 */
function collectClasses(type: unknown, found: Set<Type<object>>): void {
  const [part] = [type].flat() as (Type<object> | string | undefined)[];
  if (typeof part === 'function' && (part.prototype as unknown) === undefined) {
    collectClasses((part as unknown as () => unknown)(), found);
  } else if (typeof part === 'function' && !found.has(part)) {
    found.add(part);
    Object.values(documentedProperties(part)).forEach((property) => collectClasses(property.type, found));
    const more = (Reflect.getMetadata(DECORATORS.API_EXTRA_MODELS, part) ?? []) as unknown[];
    more.forEach((model) => collectClasses(model, found));
  }
}

export function schemaNameOf(type: Type<object>): string {
  return (Reflect.getOwnMetadata(DECORATORS.API_SCHEMA, type) as { name?: string }[] | undefined)?.at(-1)?.name ?? type.name;
}

/** What identifies a class: its Standard Schema, if a library makes a new class of it at each use, otherwise the class. */
function definitionOf(type: Type<object> & { readonly schema?: unknown }): unknown {
  return isObject(type.schema) ? type.schema : type;
}

/** @returns all names. @throws OperatorError if different classes or enums have the same name in the OpenAPI document */
export function checkClassNames(types: readonly unknown[]): ReadonlySet<string> {
  const classes = new Set<Type<object>>();
  types.forEach((type) => collectClasses(type, classes));
  const properties = [...classes].flatMap((type) => Object.values(documentedProperties(type)));
  const enums = properties.flatMap((property) => {
    const { enumName, enum: values, items } = property as { enumName?: string; enum?: unknown; items?: { enum?: unknown } };
    return enumName === undefined ? [] : { name: enumName, definition: JSON.stringify(values ?? items?.enum) };
  });
  const named = [...[...classes].map((type) => ({ name: schemaNameOf(type), definition: definitionOf(type) })), ...enums];
  const faults: string[] = [];
  for (const [name, alike] of Map.groupBy(named, (each) => each.name)) {
    const definitions = [...new Set<unknown>(alike.map(({ definition }) => definition))];
    if (definitions.length > 1) {
      const [kinds, remedy] = definitions.some((definition) => typeof definition === 'string')
        ? ['enums or classes', 'give an enum another `enumName`']
        : ['classes', 'name its schema with @ApiSchema({ name }) of @nestjs/swagger'];
      faults.push(`Several ${kinds} with the name ${name} are in the document: rename one, or ${remedy}.`);
    }
  }
  if (faults.length > 0) throw new OperatorError(faults.join('\n'));
  return new Set(named.map(({ name }) => name));
}

/** @throws OperatorError if a class has the name of a schema of the platform */
export function checkOwnNames(own: readonly string[], schemas: object): void {
  const taken = own.find((name) => Object.hasOwn(schemas, name));
  if (taken !== undefined) {
    throw new OperatorError(
      `The platform's schema ${taken} has the name of a class: rename the class, or its schema with @ApiSchema({ name }).`,
    );
  }
}

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

function schemaOf(type: Type<object>, property: string, rules: readonly ClassRule[]): object {
  const reflected: unknown = Reflect.getMetadata('design:type', type.prototype as object, property);
  const isArray =
    reflected === Array || rules.some(({ each, name }) => each || name?.startsWith('array') || name === 'isArray');
  const isNested = rules.some((rule) => rule.type === ValidationTypes.NESTED_VALIDATION);
  const nested = isNested ? nestedClasses(type, property).find((each) => each !== Object) : undefined;
  const discriminator = isNested ? discriminatorOf(type, property) : undefined;
  const implied = nested ? { type: nested } : impliedSchema(rules.filter(({ each }) => each || !isArray));
  // TypeScript reflects `string | null` as an object.
  const nullable = reflected === Object && rules.some(({ name }) => name === 'isOptional');
  const whole = { ...(isArray && impliedBy(rules.filter(({ each }) => !each))), ...(nullable && { nullable }) };
  if (discriminator) {
    return { ...whole, ...(isArray ? { type: 'array', items: choiceOf(discriminator) } : choiceOf(discriminator)) };
  }
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

/** Whether the plugin of the Nest CLI documents the properties of a class, all except those with `@ApiHideProperty()`. */
function isCompiled(type: unknown): boolean {
  const factory = Object.getOwnPropertyDescriptor(type, '_OPENAPI_METADATA_FACTORY');
  // Without the plugin, `PartialType()` and the like assign a factory that returns no properties.
  return factory !== undefined && (!factory.enumerable || Object.keys((factory.value as () => object)()).length > 0);
}

/** The `@ApiProperty` options that rules imply, for properties that neither that decorator nor the plugin documents. */
export function impliedProperties(type: Type<object>, all: readonly ClassRule[]): Record<string, ApiPropertyOptions> {
  const documented = documentedProperties(type);
  const options: Record<string, ApiPropertyOptions> = {};
  for (const [name, rules] of Map.groupBy(all, ({ propertyName }) => propertyName)) {
    if (!Object.hasOwn(documented, name) && !rules.some(({ target }) => isCompiled(target))) {
      const required = rules.every((rule) => rule.type !== ValidationTypes.CONDITIONAL_VALIDATION);
      options[name] = { ...schemaOf(type, name, rules), required } as ApiPropertyOptions;
    }
  }
  return options;
}

/** The fields that a class initializes, which requests may omit; none if its constructor needs arguments. */
function initializedFields(type: Type<object>): ReadonlySet<string> {
  try {
    // No getters, which may need fields that only a request has.
    return new Set(Object.entries(new type()).flatMap(([name, value]) => (value === undefined ? [] : name)));
  } catch {
    return new Set();
  }
}

/** Documents the properties of inputs that have rules. */
export function documentRules(classes: ReadonlyMap<Type<object>, readonly ClassRule[]>): void {
  // Read from all classes before any is changed, because a subclass inherits what is added to its superclass.
  const found = [...classes].map(([type, rules]) => ({ type, implied: impliedProperties(type, rules) }));
  for (const { type, implied } of found) {
    const initialized = initializedFields(type);
    for (const [name, options] of Object.entries(implied)) {
      const required = options.required === true && !initialized.has(name);
      ApiProperty({ ...options, required } as ApiPropertyOptions)(type.prototype as object, name);
    }
  }
}
