import { isIP } from 'node:net';
import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsOptional } from 'class-validator';
import { isDecodable } from '../http/percent-encoding.js';
import { Rule } from '../validation/rule.js';
import { parseRedisUrl } from '../redis/redis-url.js';
import { Secret } from './secret.decorator.js';

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
    Secret(),
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
    Secret(),
    SeparatedByCommas(),
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
    Secret(),
    IsOptional(),
    Rule(
      'url',
      'must be a URL like redis://user:password@host:6379/0 (rediss:// with TLS), ' +
        'redis+sentinel://host:26379,host:26379/master-name or redis+cluster://host:6379,host:6379',
      (value) => typeof value === 'string' && parseRedisUrl(value) !== undefined,
    ),
  );
}

/** A URL whose answers can be believed, so with TLS unless it leads to this machine; it may be left out. */
export function HttpsUrl(): PropertyDecorator {
  return applyDecorators(
    IsOptional(),
    Rule(
      'url',
      'must be a URL like https://issuer.example/path, without user, password and fragment (http:// to this machine only)',
      (value) => typeof value === 'string' && isTrustworthyUrl(value),
    ),
  );
}

/** IP addresses and networks in CIDR notation, separated by commas; the property becomes a list. */
export function Addresses(): PropertyDecorator {
  return applyDecorators(
    SeparatedByCommas(),
    Rule(
      'addresses',
      'must be addresses or networks like 10.0.0.0/8, separated by commas',
      (value) => Array.isArray(value) && value.every((text: string) => isNetwork(text)),
    ),
  );
}

/** Other spellings mean other things to other programs (`010.0.0.0`, `10/8`), and all addresses at once are no proxy. */
function isNetwork(text: string): boolean {
  const [address = '', length, ...rest] = text.split('/');
  const longest = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
  const isLength = length === undefined || (/^[1-9][0-9]{0,2}$/.test(length) && Number(length) <= longest);
  return longest > 0 && !address.includes('%') && isLength && rest.length === 0;
}

function SeparatedByCommas(): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' ? value.split(',').map((part) => part.trim()) : value,
  );
}

/**
 * Whether what is fetched from there comes from there.
 *
 * @param text - of a URL
 */
export function isTrustworthyUrl(text: string): boolean {
  const url = URL.parse(text);
  if (!url || url.username !== '' || url.password !== '' || url.hash !== '') {
    return false;
  }
  const isHere = /^(?:localhost|127(?:\.[0-9]+){3}|\[::1\])$/.test(url.hostname);
  return url.protocol === 'https:' || (url.protocol === 'http:' && isHere);
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
