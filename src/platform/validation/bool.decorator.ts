import { Property, type PropertyOptions } from './property.js';

/** `true` or `false`. Validates and documents the property at once. */
export function Bool(options: PropertyOptions<boolean>): PropertyDecorator {
  return Property<boolean>(options, {
    schema: { type: Boolean },
    detail: 'must be true or false',
    isOne: (value) => typeof value === 'boolean',
  });
}
