import { applyDecorators } from '@nestjs/common';
import { Converted } from './parsed.decorator.js';
import { Rule } from './rule.js';

/**
 * An integer written as canonical decimal text, as query parameters and environment variables carry it: `10`, but not `010`,
 * `0x0a`, `1e1`, ` 10` or `10.0`. The property becomes a number.
 */
export function DecimalInteger(minimum: number, maximum: number): PropertyDecorator {
  return applyDecorators(
    Converted((text) => (/^(?:0|[1-9][0-9]{0,14})$/.test(text) ? Number(text) : text)),
    Rule(
      'range',
      `must be a whole number from ${minimum} to ${maximum}, in plain digits`,
      (value) => typeof value === 'number' && value >= minimum && value <= maximum,
    ),
  );
}
