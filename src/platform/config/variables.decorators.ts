import { validateHeaderName, validateHeaderValue } from 'node:http';
import { isIP } from 'node:net';
import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsOptional } from 'class-validator';
import { isDecodable } from '../http/percent-encoding.js';
import { parseRedisUrl } from '../redis/redis-url.js';
import { Rule } from '../validation/rule.js';
import { parseKeyValues } from './key-values.js';

const SECRET = 'secret-variable';
const POSTGRES_URL = 'like postgres://user:password@host:5432/database, special characters percent-encoded';
const PAIRS = 'name=value, separated by commas, special characters percent-encoded';

/** Marks a variable that may hold a password: no print-out shows it. */
export function Secret(): PropertyDecorator {
  return (target, name) => Reflect.defineMetadata(SECRET, true, target, name);
}

/** The variables of an object as print-outs may show them; whether a {@link Secret} is set can be seen. */
export function printable(variables: object): Record<string, unknown> {
  const show = (name: string, value: unknown) =>
    Reflect.hasMetadata(SECRET, variables, name) && !isUnset(value) ? '[set]' : value;
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, show(name, value)]));
}

/** Whether this is the value of a variable, be it a list, that is not set. */
export function isUnset(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0);
}

/** A number as decimal text, fractions allowed (`0.5`); the property becomes a number. */
export function Decimal(minimum: number, maximum: number, kind = 'a number'): PropertyDecorator {
  const isInRange = (value: unknown) => typeof value === 'number' && value >= minimum && value <= maximum;
  return applyDecorators(
    Converted(/^[0-9]{0,9}\.?[0-9]{1,9}$/, Number),
    Rule('range', `must be ${kind} from ${minimum} to ${maximum}`, isInRange),
  );
}

/** A duration in seconds, fractions allowed; the property becomes a number. */
export function Seconds(minimum: number, maximum: number): PropertyDecorator {
  return Decimal(minimum, maximum, 'a number of seconds');
}

/** `true` or `false`; the property becomes a boolean. */
export function Flag(): PropertyDecorator {
  return applyDecorators(
    Converted(/^(?:true|false)$/, (text) => text === 'true'),
    Rule('choice', 'must be true or false', (value) => typeof value === 'boolean'),
  );
}

/** A PostgreSQL connection URL, which may be left out. */
export function PostgresUrl(): PropertyDecorator {
  return applyDecorators(Secret(), OptionalText(`must be a URL ${POSTGRES_URL}`, isPostgresUrl));
}

/** PostgreSQL connection URLs, separated by commas; the property becomes a list. */
export function PostgresUrls(): PropertyDecorator {
  return applyDecorators(Secret(), List(`must be URLs, separated by commas, ${POSTGRES_URL}`, isPostgresUrl));
}

/** A Redis URL in the spelling of `parseRedisUrl`, which may be left out. */
export function RedisUrl(): PropertyDecorator {
  const detail =
    'must be a URL like redis://user:password@host:6379/0 (rediss:// with TLS), ' +
    'redis+sentinel://host:26379,host:26379/master-name or redis+cluster://host:6379,host:6379';
  return applyDecorators(
    Secret(),
    OptionalText(detail, (text) => parseRedisUrl(text) !== undefined),
  );
}

/** A URL whose responses can be trusted, so with TLS unless it leads to this machine; it may be left out. */
export function HttpsUrl(): PropertyDecorator {
  const detail =
    'must be a URL like https://issuer.example/path, without user, password and fragment (http:// to this machine only)';
  return OptionalText(detail, isTrustworthyUrl);
}

/** The base URL of a collector, which may be left out. */
export function CollectorUrl(): PropertyDecorator {
  return applyDecorators(
    Secret(),
    OptionalText('must be a URL like https://collector:4318, without query and fragment', isCollectorUrl),
  );
}

/** IP addresses and networks in CIDR notation, separated by commas; the property becomes a list. */
export function Addresses(): PropertyDecorator {
  return List('must be addresses or networks like 10.0.0.0/8, separated by commas', isNetwork);
}

/** `name=value` pairs, separated by commas, that may be left out. */
export function KeyValues(): PropertyDecorator {
  return OptionalText(`must be pairs like ${PAIRS}`, (text) => parseKeyValues(text) !== undefined);
}

/** HTTP headers as `name=value` pairs, which may be left out. */
export function HeaderPairs(): PropertyDecorator {
  return applyDecorators(
    Secret(),
    OptionalText(`must be names and values of HTTP headers like ${PAIRS}`, (text) => {
      const pairs = parseKeyValues(text);
      return pairs !== undefined && Object.entries(pairs).every(isHeader);
    }),
  );
}

/** A text of this form becomes what is made of it; another one stays, for the rule that refuses it. */
function Converted(pattern: RegExp, convert: (text: string) => unknown): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && pattern.test(value) ? convert(value) : value,
  );
}

function OptionalText(detail: string, test: (text: string) => boolean): PropertyDecorator {
  return applyDecorators(
    IsOptional(),
    Rule('form', detail, (value) => typeof value === 'string' && test(value)),
  );
}

function List(detail: string, test: (text: string) => boolean): PropertyDecorator {
  return applyDecorators(
    Converted(/^/, (text) => text.split(',').map((part) => part.trim())),
    Rule('form', detail, (value) => Array.isArray(value) && value.every(test)),
  );
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
  const { protocol = '', pathname = '', username = '', password = '' } = URL.parse(text) ?? {};
  return /^postgres(?:ql)?:$/.test(protocol) && pathname.length > 1 && [pathname, username, password].every(isDecodable);
}

function isCollectorUrl(text: string): boolean {
  return /^https?:$/.test(URL.parse(text)?.protocol ?? '') && !/[?#]/.test(text);
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
