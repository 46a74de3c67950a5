import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { isUuid } from '../database/id.js';
import { Property, type PropertyOptions } from './property.js';

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
      isOne: (value) => typeof value === 'string' && isUuid(value),
    }),
  );
}
