import type { Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions, DECORATORS } from '@nestjs/swagger';
import { OperatorError } from '../errors/operator-error.js';
import { rulesOf } from '../validation/rule.js';

/** The `@ApiProperty` options of a class by property, including inherited ones. */
export function documentedProperties({ prototype }: Type<object>): Record<string, ApiPropertyOptions> {
  const target = prototype as object;
  // Each name has a colon as prefix.
  const names = (Reflect.getMetadata(DECORATORS.API_MODEL_PROPERTIES_ARRAY, target) ?? []) as string[];
  const optionsOf = (name: string) =>
    Reflect.getMetadata(DECORATORS.API_MODEL_PROPERTIES, target, name) as ApiPropertyOptions;
  return Object.fromEntries(names.map((name) => [name.slice(1), optionsOf(name.slice(1))]));
}

type DocumentedType = Type<object> | (() => unknown) | string | undefined;

/** Adds a class and those of its properties. @param type - as in `@ApiProperty`: a class, a list of one, or a function */
function collectClasses(type: unknown, found: Set<Type<object>>): void {
  const [part] = [type].flat() as DocumentedType[];
  if (typeof part === 'function' && part.prototype === undefined) {
    collectClasses((part as () => unknown)(), found);
  } else if (typeof part === 'function' && !found.has(part as Type<object>)) {
    found.add(part as Type<object>);
    Object.values(documentedProperties(part as Type<object>)).forEach((property) => collectClasses(property.type, found));
  }
}

function schemaNameOf(type: Type<object>): string {
  return (Reflect.getOwnMetadata(DECORATORS.API_SCHEMA, type) as { name?: string }[] | undefined)?.at(-1)?.name ?? type.name;
}

/** @throws OperatorError if two of the classes, or of those that they contain, have the same name in the OpenAPI document */
export function checkClassNames(types: readonly unknown[]): void {
  const classes = new Set<Type<object>>();
  types.forEach((type) => collectClasses(type, classes));
  for (const [name, { length }] of Map.groupBy(classes, schemaNameOf)) {
    if (length > 1) {
      const remedy = 'rename one, or name its schema with @ApiSchema({ name }) of @nestjs/swagger.';
      throw new OperatorError(`Several classes with the name ${name} are in the document: ${remedy}`);
    }
  }
}

const WHITELISTED = 'whitelisted';

/** Marks a response class whose objects contain only the properties that it documents now. */
export function markWhitelisted(type: Type<object>): void {
  Reflect.defineMetadata(WHITELISTED, Object.keys(documentedProperties(type)).length, type);
}

/** Whether a class is marked. A subclass that documents more properties is not. */
export function isWhitelisted(type: Type<object>): boolean {
  return Reflect.getMetadata(WHITELISTED, type) === Object.keys(documentedProperties(type)).length;
}

/** The type of a property as class-validator's decorators imply it. */
const TYPES: Readonly<Record<string, ApiPropertyOptions>> = {
  isString: { type: 'string' },
  isInt: { type: 'integer' },
  isNumber: { type: 'number' },
  isBoolean: { type: 'boolean' },
  isUuid: { type: 'string', format: 'uuid' },
  isEmail: { type: 'string', format: 'email' },
  isDateString: { type: 'string', format: 'date-time' },
};

/** Documents the properties of an input that have rules of class-validator and no `@ApiProperty`. */
export function documentRules(type: Type<object>): void {
  const target = type.prototype as object;
  const documented = documentedProperties(type);
  for (const [name, rules] of Map.groupBy(rulesOf(type), ({ propertyName }) => propertyName)) {
    if (Object.hasOwn(documented, name)) {
      continue;
    }
    const reflected: unknown = Reflect.getMetadata('design:type', target, name);
    const isList = rules.some(({ each }) => each);
    const isReflected = typeof reflected === 'function' && reflected !== Array;
    const known = rules.map((rule) => TYPES[rule.name ?? '']).find((schema) => schema !== undefined);
    const unknown =
      reflected === Array && !isList ? { type: 'array', items: {} } : { type: 'object', additionalProperties: true };
    const schema = known ?? (isReflected ? {} : unknown);
    const required = rules.every((rule) => rule.type !== 'conditionalValidation');
    ApiProperty({ ...schema, required, isArray: isList } as ApiPropertyOptions)(target, name);
  }
}
