import { validateHeaderName, validateHeaderValue } from 'node:http';
import { isIP } from 'node:net';
import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsOptional } from 'class-validator';
import { isDecodable } from '../http/percent-encoding.js';
import { parseRedisUrl } from '../redis/redis-url.js';
import { Rule } from '../validation/rule.js';
import { parseKeyValues } from './key-values.js';
import { Secret } from './secret.decorator.js';

/** A duration in seconds as decimal text, fractions allowed (`0.5`). */
export function Seconds(minimum: number, maximum: number): PropertyDecorator {
  return applyDecorators(
    Converted(/^[0-9]{1,9}(?:\.[0-9]{1,3})?$/, Number),
    Rule('range', `must be a number of seconds from ${minimum} to ${maximum}`, isFrom(minimum, maximum)),
  );
}

/** A part of all, from 0 to 1, as decimal text. */
export function Ratio(): PropertyDecorator {
  return applyDecorators(
    Converted(/^(?:0|1|0?\.[0-9]{1,9}|[01]\.[0-9]{1,9})$/, Number),
    Rule('range', 'must be a number from 0 to 1', isFrom(0, 1)),
  );
}

/** `true` or `false`; the property becomes a boolean. */
export function Flag(): PropertyDecorator {
  return applyDecorators(
    Converted(/^(?:true|false)$/, (text) => text === 'true'),
    Rule('choice', 'must be true or false', (value) => typeof value === 'boolean'),
  );
}

/** One word out of a list. */
export function Choice(...words: string[]): PropertyDecorator {
  return Rule('choice', `must be one of ${words.join(', ')}`, (value) => words.some((word) => word === value));
}

/** A PostgreSQL connection URL, which may be left out. */
export function PostgresUrl(): PropertyDecorator {
  const detail = 'must be a URL like postgres://user:password@host:5432/database, special characters percent-encoded';
  return applyDecorators(Secret(), OptionalText('url', detail, isPostgresUrl));
}

/** PostgreSQL connection URLs, separated by commas; the property becomes a list. */
export function PostgresUrls(): PropertyDecorator {
  const detail =
    'must be URLs like postgres://user:password@host:5432/database, separated by commas, special characters percent-encoded';
  return applyDecorators(Secret(), List('url', detail, isPostgresUrl));
}

/** A Redis URL in the spelling of `parseRedisUrl`, which may be left out. */
export function RedisUrl(): PropertyDecorator {
  const detail =
    'must be a URL like redis://user:password@host:6379/0 (rediss:// with TLS), ' +
    'redis+sentinel://host:26379,host:26379/master-name or redis+cluster://host:6379,host:6379';
  return applyDecorators(
    Secret(),
    OptionalText('url', detail, (text) => parseRedisUrl(text) !== undefined),
  );
}

/** A URL whose responses can be trusted, so with TLS unless it leads to this machine; it may be left out. */
export function HttpsUrl(): PropertyDecorator {
  const detail =
    'must be a URL like https://issuer.example/path, without user, password and fragment (http:// to this machine only)';
  return OptionalText('url', detail, isTrustworthyUrl);
}

/** The base URL of a collector, which may be left out. */
export function CollectorUrl(): PropertyDecorator {
  const detail = 'must be a URL like https://collector:4318, without query and fragment';
  return applyDecorators(Secret(), OptionalText('url', detail, isCollectorUrl));
}

/** IP addresses and networks in CIDR notation, separated by commas; the property becomes a list. */
export function Addresses(): PropertyDecorator {
  return List('addresses', 'must be addresses or networks like 10.0.0.0/8, separated by commas', isNetwork);
}

/** `name=value` pairs, separated by commas, that may be left out. */
export function KeyValues(): PropertyDecorator {
  const detail = 'must be pairs like name=value, separated by commas, special characters percent-encoded';
  return OptionalText('pairs', detail, (text) => parseKeyValues(text) !== undefined);
}

/** HTTP headers as `name=value` pairs, which may be left out. */
export function HeaderPairs(): PropertyDecorator {
  return applyDecorators(
    Secret(),
    KeyValues(),
    OptionalText('headers', 'must be names and values of HTTP headers', (text) =>
      Object.entries(parseKeyValues(text) ?? {}).every(isHeader),
    ),
  );
}

/** A text of this form becomes what is made of it; another one stays, for the rule that refuses it. */
function Converted(pattern: RegExp, convert: (text: string) => unknown): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && pattern.test(value) ? convert(value) : value,
  );
}

function OptionalText(code: string, detail: string, test: (text: string) => boolean): PropertyDecorator {
  return applyDecorators(
    IsOptional(),
    Rule(code, detail, (value) => typeof value === 'string' && test(value)),
  );
}

function List(code: string, detail: string, test: (text: string) => boolean): PropertyDecorator {
  return applyDecorators(
    Converted(/^/, (text) => text.split(',').map((part) => part.trim())),
    Rule(code, detail, (value) => Array.isArray(value) && value.every(test)),
  );
}

function isFrom(minimum: number, maximum: number): (value: unknown) => boolean {
  return (value) => typeof value === 'number' && value >= minimum && value <= maximum;
}

/** Other spellings mean other things to other programs (`010.0.0.0`, `10/8`), and all addresses at once are no proxy. */
function isNetwork(text: string): boolean {
  const [address = '', length, ...rest] = text.split('/');
  const longest = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
  const isLength = length === undefined || (/^[1-9][0-9]{0,2}$/.test(length) && Number(length) <= longest);
  return longest > 0 && !address.includes('%') && isLength && rest.length === 0;
}

/** Whether what is fetched from a URL comes from there. */
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
  const url = URL.parse(text);
  const parts = url ? [url.pathname, url.username, url.password] : [];
  return /^postgres(?:ql)?:$/.test(url?.protocol ?? '') && (url?.pathname.length ?? 0) > 1 && parts.every(isDecodable);
}

function isCollectorUrl(text: string): boolean {
  const { protocol = '', search = '', hash = '' } = URL.parse(text) ?? {};
  return /^https?:$/.test(protocol) && !/[?#]/.test(text) && search + hash === '';
}

function isHeader([name, value]: [string, string]): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}
