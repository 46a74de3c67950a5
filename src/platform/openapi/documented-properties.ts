import type { Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions, DECORATORS } from '@nestjs/swagger';
import { rulesOf } from '../validation/rule.js';

/** What a class says of its properties with `@ApiProperty`, or a rule that does it, by their names; inherited ones, too. */
export function documentedProperties({ prototype }: Type<object>): Record<string, ApiPropertyOptions> {
  const target = prototype as object;
  // Each behind a colon.
  const names = (Reflect.getMetadata(DECORATORS.API_MODEL_PROPERTIES_ARRAY, target) ?? []) as string[];
  const optionsOf = (name: string) => Reflect.getMetadata(DECORATORS.API_MODEL_PROPERTIES, target, name) as ApiPropertyOptions;
  return Object.fromEntries(names.map((name) => [name.slice(1), optionsOf(name.slice(1))]));
}

const WHITELISTED = 'whitelisted';

/** Marks a class for responses whose objects are made with the properties that it documents by now, and no others. */
export function markWhitelisted(type: Type<object>): void {
  Reflect.defineMetadata(WHITELISTED, Object.keys(documentedProperties(type)).length, type);
}

/** Whether the objects of a class are made so: those of a class that extends one and documents more are not. */
export function isWhitelisted(type: Type<object>): boolean {
  return Reflect.getMetadata(WHITELISTED, type) === Object.keys(documentedProperties(type)).length;
}

/** What class-validator's decorators say of the type of a property. */
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
    const isReflected = typeof reflected === 'function' && reflected !== Array;
    const known = rules.map((rule) => TYPES[rule.name ?? '']).find((schema) => schema !== undefined);
    const schema = known ?? (isReflected ? {} : { type: 'object', additionalProperties: true });
    const required = rules.every((rule) => rule.type !== 'conditionalValidation');
    ApiProperty({ ...schema, required, isArray: rules.some(({ each }) => each) } as ApiPropertyOptions)(target, name);
  }
}
