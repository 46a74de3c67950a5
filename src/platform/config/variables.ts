import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsOptional } from 'class-validator';
import { Rule } from '../validation/rule.js';

/** A duration in seconds as decimal text, fractions allowed (`0.5`). */
export function Seconds(minimum: number, maximum: number): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }: { value: unknown }) =>
      typeof value === 'string' && /^[0-9]{1,9}(?:\.[0-9]{1,3})?$/.test(value) ? Number(value) : value,
    ),
    Rule(
      'range',
      `must be a number of seconds from ${minimum} to ${maximum}`,
      (value) => typeof value === 'number' && value >= minimum && value <= maximum,
    ),
  );
}

/** One word out of a list. */
export function Choice(...words: string[]): PropertyDecorator {
  return Rule('choice', `must be one of ${words.join(', ')}`, (value) => typeof value === 'string' && words.includes(value));
}

/** A path in the file system. */
export function Path(): PropertyDecorator {
  return Rule('path', 'must be a path', (value) => typeof value === 'string' && !value.includes('\0'));
}

/** A PostgreSQL connection URL, which may be left out. */
export function PostgresUrl(): PropertyDecorator {
  return applyDecorators(
    IsOptional(),
    Rule(
      'url',
      'must be a URL like postgres://user:password@host:5432/database, special characters percent-encoded',
      (value) => typeof value === 'string' && /^postgres(?:ql)?:$/.test(URL.parse(value)?.protocol ?? ''),
    ),
  );
}
