import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import type { ValueFault } from '../http/problem.js';
import { Rule } from './rule.js';

/** Stands in an input for a value that could not be parsed. */
export class RefusedValue {
  constructor(readonly fault: ValueFault) {}
}

/**
 * A text that becomes what a parser makes of it.
 *
 * @param parse - returns a `RefusedValue` for a text that it cannot parse
 */
export function Parsed(parse: (text: string) => unknown): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }: { value: unknown }) =>
      typeof value === 'string' ? parse(value) : new RefusedValue({ code: 'type', detail: 'must be a string' }),
    ),
    Rule('parsed', 'could not be parsed', (value) => !(value instanceof RefusedValue)),
  );
}

/**
 * A text becomes what is made of it; other values stay, for a rule to refuse.
 *
 * @param convert - its `input` is the whole input, as it was sent
 */
export function Converted(convert: (text: string, input: object) => unknown): PropertyDecorator {
  return Transform(({ value, obj }: { value: unknown; obj: object }) =>
    typeof value === 'string' ? convert(value, obj) : value,
  );
}

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
