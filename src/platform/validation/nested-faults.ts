import type { InputFault } from './input-faults.js';
import { rulesOf } from './rules-of.js';

/**
 * Nested objects that are missing, or lists where one object is declared: class-validator's `@ValidateNested()` lets both pass.
 *
 * @param input - an instance of a class with rules
 */
export function nestedFaults(input: object, path: readonly string[] = []): InputFault[] {
  const rules = rulesOf(input.constructor);
  const optional = new Set(rules.flatMap(({ type, propertyName }) => (type === 'conditionalValidation' ? [propertyName] : [])));
  return rules
    .filter(({ type }) => type === 'nestedValidation')
    .flatMap(({ propertyName, each }): InputFault[] => {
      const place = [...path, propertyName];
      const value = (input as Record<string, unknown>)[propertyName];
      if (value === undefined || value === null) {
        return optional.has(propertyName) ? [] : [{ path: place, code: 'required', detail: 'is required' }];
      }
      const isList = each || Reflect.getMetadata('design:type', input, propertyName) === Array;
      if (Array.isArray(value) !== isList) {
        return [{ path: place, code: 'type', detail: isList ? 'must be a list' : 'must be an object' }];
      }
      const parts = Array.isArray(value)
        ? value.map((part: unknown, index) => [part, [...place, String(index)]] as const)
        : [[value, place] as const];
      return parts.flatMap(([part, at]): InputFault[] => {
        if (Array.isArray(part)) {
          return [{ path: at, code: 'type', detail: 'must be an object' }];
        }
        return typeof part === 'object' && part !== null ? nestedFaults(part, at) : [];
      });
    });
}
