import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { Property, type PropertyOptions } from './property.js';

/** Of any version and variant, as PostgreSQL stores it and `format: uuid` promises. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * A UUID (RFC 9562), as text. Capitals make no difference: the property gets small letters, as PostgreSQL gives them back.
 * Validates and documents the property at once, also of a path: `@Param() { id }: WidgetPath`.
 */
export function Uuid(options: PropertyOptions<string>): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? value.toLowerCase() : value)),
    Property<string>(options, {
      schema: { type: String, format: 'uuid' },
      detail: 'must be a UUID, like 0190163d-8694-739b-aea5-966c26f8ad91',
      isOne: (value) => typeof value === 'string' && UUID.test(value),
    }),
  );
}
