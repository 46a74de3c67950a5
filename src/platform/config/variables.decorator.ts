import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsOptional } from 'class-validator';
import { isDecodable } from '../http/percent-encoding.js';
import { Rule } from '../validation/rule.js';
import { parseRedisUrl } from '../redis/redis-url.js';

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

/** `true` or `false`; the property becomes a boolean. */
export function Flag(): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }: { value: unknown }) => (value === 'true' || value === 'false' ? value === 'true' : value)),
    Rule('choice', 'must be true or false', (value) => typeof value === 'boolean'),
  );
}

/** A PostgreSQL connection URL, which may be left out. */
export function PostgresUrl(): PropertyDecorator {
  return applyDecorators(
    IsOptional(),
    Rule(
      'url',
      'must be a URL like postgres://user:password@host:5432/database, special characters percent-encoded',
      (value) => typeof value === 'string' && isPostgresUrl(value),
    ),
  );
}

/** PostgreSQL connection URLs, separated by commas; the property becomes a list. */
export function PostgresUrls(): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? value.split(',').map((url) => url.trim()) : value)),
    Rule(
      'url',
      'must be URLs like postgres://user:password@host:5432/database, separated by commas, special characters percent-encoded',
      (value) => Array.isArray(value) && value.every(isPostgresUrl),
    ),
  );
}

/** A Redis URL in the spelling of `parseRedisUrl`, which may be left out. */
export function RedisUrl(): PropertyDecorator {
  return applyDecorators(
    IsOptional(),
    Rule(
      'url',
      'must be a URL like redis://user:password@host:6379/0 (rediss:// with TLS), ' +
        'redis+sentinel://host:26379,host:26379/master-name or redis+cluster://host:6379,host:6379',
      (value) => typeof value === 'string' && parseRedisUrl(value) !== undefined,
    ),
  );
}

/** Whether `pg` will understand it: a database must be named, or `pg` would take one by the name of the user. */
function isPostgresUrl(text: string): boolean {
  const { protocol, pathname, username, password } = URL.parse(text) ?? {
    protocol: '',
    pathname: '',
    username: '',
    password: '',
  };
  return /^postgres(?:ql)?:$/.test(protocol) && pathname.length > 1 && [pathname, username, password].every(isDecodable);
}
