import { Property, type PropertyOptions } from './property.js';

/** Which words are taken. */
export interface OneOfOptions<Word extends string> extends PropertyOptions<Word> {
  values: readonly Word[];
}

/** One word out of a list, capitals included. Validates and documents the property at once. */
export function OneOf<const Word extends string>({ values, ...options }: OneOfOptions<Word>): PropertyDecorator {
  return Property<Word>(options, {
    schema: { type: String, enum: [...values] },
    detail: `must be one of ${values.map((value) => JSON.stringify(value)).join(', ')}`,
    isOne: (value) => values.some((word) => word === value),
  });
}
