import { Property, type PropertyOptions } from './property.js';

/** Which whole numbers are taken. */
export interface IntegerOptions extends PropertyOptions<number> {
  /** Smallest value allowed. */
  minimum: number;
  /** Largest value allowed: a column `integer` takes 2,147,483,647, and JSON 9,007,199,254,740,991. */
  maximum: number;
}

/**
 * A JSON number without a fraction. Validates and documents the property at once.
 *
 * @throws Error when a bound is beyond what JSON carries exactly
 */
export function Integer({ minimum, maximum, ...options }: IntegerOptions): PropertyDecorator {
  if (!Number.isSafeInteger(minimum) || !Number.isSafeInteger(maximum)) {
    throw new Error(`An integer from ${minimum} to ${maximum} cannot be told apart from its neighbours: choose closer bounds.`);
  }
  return Property<number>(options, {
    schema: { type: 'integer', minimum, maximum },
    detail: 'must be a whole number',
    isOne: (value) => Number.isInteger(value),
    rules: [['range', `must be from ${minimum} to ${maximum}`, (value) => value >= minimum && value <= maximum]],
  });
}
