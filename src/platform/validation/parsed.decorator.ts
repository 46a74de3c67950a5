import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import type { ValueFault } from '../http/problem.js';
import { Rule } from './rule.js';

/** Replaces an input value that could not be parsed. */
export class RefusedValue {
  constructor(readonly fault: ValueFault) {}
}

/** Parses a text property. @param parse - returns a `RefusedValue` for an invalid text */
export function Parsed(parse: (text: string) => unknown): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }: { value: unknown }) =>
      typeof value === 'string' ? parse(value) : new RefusedValue({ code: 'type', detail: 'must be a string' }),
    ),
    Rule('type', 'could not be parsed', (value) => !(value instanceof RefusedValue)),
  );
}

/** Converts texts; other values are left for a rule to reject. @param convert - receives the whole raw input as `input` */
export function Converted(convert: (text: string, input: object) => unknown): PropertyDecorator {
  return Transform(({ value, obj }: { value: unknown; obj: object }) =>
    typeof value === 'string' ? convert(value, obj) : value,
  );
}

/** An integer in canonical decimal text, as in queries and environment variables: `10`, but not `010`, `0x0a`, `1e1`, ` 10` or `10.0`. */
export function DecimalInteger(minimum: number, maximum: number): PropertyDecorator {
  return applyDecorators(
    Converted((text) => (/^(?:0|[1-9][0-9]{0,14})$/.test(text) ? Number(text) : text)),
    Rule(
      'range',
      `must be an integer from ${minimum} to ${maximum}, in decimal digits`,
      (value) => typeof value === 'number' && value >= minimum && value <= maximum,
    ),
  );
}
