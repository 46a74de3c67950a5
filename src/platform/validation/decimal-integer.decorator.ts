import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { Rule } from './rule.js';

/**
 * A whole number written as canonical decimal text, as query parameters and environment variables carry it:
 * `10`, but not `010`, `0x0a`, `1e1`, ` 10` or `10.0`. The property becomes a number.
 *
 * @param minimum - smallest value allowed
 * @param maximum - largest value allowed
 */
export function DecimalInteger(minimum: number, maximum: number): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }: { value: unknown }) => parse(value)),
    Rule(
      'range',
      `must be a whole number from ${minimum} to ${maximum}, in plain digits`,
      (value) => typeof value === 'number' && value >= minimum && value <= maximum,
    ),
  );
}

function parse(value: unknown): unknown {
  return typeof value === 'string' && /^(?:0|[1-9][0-9]{0,14})$/.test(value) ? Number(value) : value;
}
