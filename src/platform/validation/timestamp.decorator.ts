import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { MILLISECOND, parseTimestamp } from '../time/timestamp.js';
import { Property, type PropertyOptions } from './property.js';

/** In capitals, without leap seconds, and with what fits into a `Date`: RFC 3339, and with it the format, has more. */
const PATTERN = '^\\d{4}-\\d\\d-\\d\\dT([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,3}0{0,6})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)$';

/**
 * A moment, as RFC 3339 writes it with a zone and at most milliseconds; the property becomes a `Date`. Validates and
 * documents the property at once.
 */
export function Timestamp(options: PropertyOptions<string>): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }: { value: unknown }) => parse(value)),
    Property<Date>(options, {
      schema: { type: String, format: 'date-time', pattern: PATTERN },
      detail: 'must be a time with a zone and at most milliseconds, like 2026-01-31T12:00:00.000Z',
      isOne: (value) => value instanceof Date,
    }),
  );
}

function parse(value: unknown): unknown {
  const nanoseconds = typeof value === 'string' ? parseTimestamp(value) : undefined;
  return nanoseconds !== undefined && nanoseconds % MILLISECOND === 0n ? new Date(Number(nanoseconds / MILLISECOND)) : value;
}
