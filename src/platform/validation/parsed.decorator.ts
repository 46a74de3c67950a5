import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { Rule } from './rule.js';
import type { ValueFault } from '../http/problem.js';

/** Stands in an input for a value that could not be parsed. */
export class RefusedValue {
  constructor(readonly fault: ValueFault) {}
}

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
