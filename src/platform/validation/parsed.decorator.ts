import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { RefusedValue } from './input-fault.js';
import { Rule } from './rule.js';

/**
 * A text that becomes what a parser makes of it.
 *
 * @param parse - gives a `RefusedValue` for a text that it cannot parse
 */
export function Parsed(parse: (text: string) => unknown): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }: { value: unknown }) =>
      typeof value === 'string' ? parse(value) : new RefusedValue({ code: 'type', detail: 'must be a string' }),
    ),
    Rule('parsed', 'could not be parsed', (value) => !(value instanceof RefusedValue)),
  );
}
