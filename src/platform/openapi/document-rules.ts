import type { Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { rulesOf } from '../validation/rule.js';
import { documentedProperties } from './documented-properties.js';

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

/**
 * Documents the properties of an input that have rules of class-validator and no `@ApiProperty`: their type, as far as these rules or
 * reflection tell it, and whether they may be left out.
 */
export function documentRules(type: Type<object>): void {
  const rules = rulesOf(type);
  const documented = documentedProperties(type);
  const undocumented = Map.groupBy(
    rules.filter(({ propertyName }) => !Object.hasOwn(documented, propertyName)),
    ({ propertyName }) => propertyName,
  );
  for (const [name, ofProperty] of undocumented) {
    const required = !ofProperty.some((rule) => rule.type === 'conditionalValidation');
    const isList = ofProperty.some(({ each }) => each);
    const known = ofProperty.map((rule) => TYPES[rule.name ?? '']).find((schema) => schema !== undefined);
    const reflected: unknown = Reflect.getMetadata('design:type', type.prototype as object, name);
    const schema =
      known ?? (typeof reflected === 'function' && reflected !== Array ? {} : { type: 'object', additionalProperties: true });
    ApiProperty({ ...schema, required, isArray: isList } as ApiPropertyOptions)(type.prototype as object, name);
  }
}
