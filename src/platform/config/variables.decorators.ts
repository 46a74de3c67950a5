import { accessSync, constants, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { isDecodable } from '../requests/percent-encoding.js';
import { parseRedisUrl } from './redis-url.js';
import { Parsed, RefusedValue } from '../validation/rule.js';
import { isOrigin, isPublicUrl } from './origins.js';

/** Parameters beside `sslmode` and `ssl` that `pg` knows, or ignores without making a connection less safe. */
const OTHER_TLS_PARAMETERS = ['sslcert', 'sslkey', 'sslrootcert', 'sslnegotiation', 'sslcompression', 'sslsni'];

const FORMS = {
  postgresUrl: [
    'a URL like postgres://user:password@host:5432/database?sslmode=verify-full, special characters percent-encoded; ' +
      `of the parameters that begin with ssl only ${OTHER_TLS_PARAMETERS.join(', ')}, ssl, ` +
      'and sslmode with its value in lower case; leave out sslrootcert=system: Node.js knows public CAs',
    isPostgresUrl,
  ],
  redisUrl: [
    'a URL like redis://user:password@host:6379/0 (rediss:// with TLS, redis://user:@host:6379/0 with ' +
      'REDIS_PASSWORD_FILE), ' +
      'redis+sentinel://host:26379,host:26379/master-name or redis+cluster://host:6379,host:6379',
    (text) => parseRedisUrl(text) !== undefined,
  ],
  httpsUrl: [
    'a URL like https://issuer.example/path, without user, password and fragment (http:// to this machine only)',
    isTrustworthyUrl,
  ],
  collectorUrl: [
    'a URL like https://collector:4318, without query and fragment',
    (text) => /^https?:[^?#]+$/.test(text) && URL.canParse(text),
  ],
  readableFile: ['the path of a file that the service can read', isReadableFile],
  scope: ['a scope like items:read', isScope],
  network: ['an address or network like 10.0.0.0/8', isNetwork],
  address: ['an IP address of this machine like 127.0.0.1 or ::1, without brackets and port', (text) => isIP(text) !== 0],
  origin: [
    'an origin like https://shop.example or http://localhost:5173, as browsers send it: in lower case, without path, ' +
      'trailing slash, default port and wildcard',
    isOrigin,
  ],
  publicUrl: [
    'a URL like https://api.example.com/catalog, in lower case before the path, without default port, trailing slash, ' +
      'query and percent-encoding',
    isPublicUrl,
  ],
} satisfies Record<string, readonly [detail: string, test: (text: string) => boolean]>;

/** Whether the value is that of an unset variable or list. */
export function isUnset(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0);
}

/** A number as decimal text, fractions allowed (`0.5`); the property becomes a number. */
export function Decimal(minimum: number, maximum: number, kind = 'a number'): PropertyDecorator {
  return Variable(`${kind} from ${minimum} to ${maximum}`, (text) => {
    const value = /^[0-9]{0,9}\.?[0-9]{1,9}$/.test(text) ? Number(text) : NaN;
    return value >= minimum && value <= maximum ? value : undefined;
  });
}

/** A duration in seconds, fractions allowed; the property becomes a number. */
export function Seconds(minimum: number, maximum: number): PropertyDecorator {
  return Decimal(minimum, maximum, 'a number of seconds');
}

/** `true` or `false`, in any case, as in OpenTelemetry's variables; the property becomes a boolean. */
export function Flag(): PropertyDecorator {
  return Variable('true or false', (text) => (/^(?:true|false)$/i.test(text) ? /true/i.test(text) : undefined));
}

export function Form(form: keyof typeof FORMS): PropertyDecorator {
  const [detail, test] = FORMS[form];
  return Variable(detail, (text) => (test(text) ? text : undefined));
}

/** A comma-separated list of this form; the property becomes a list. */
export function ListOf(form: keyof typeof FORMS): PropertyDecorator {
  const [detail, test] = FORMS[form];
  return Variable(`a comma-separated list, each part ${detail}`, (text) => {
    const parts = text.split(',').map((part) => part.trim());
    return parts.every(test) ? parts : undefined;
  });
}

/** @param parse - returns undefined for an invalid text */
function Variable(detail: string, parse: (text: string) => unknown): PropertyDecorator {
  return Parsed((text) => parse(text) ?? new RefusedValue({ code: 'form', detail: `must be ${detail}` }));
}

/** Whether a text is a scope (RFC 6749, section 3.3). */
export function isScope(text: string): boolean {
  return /^[!#-[\]-~]+$/.test(text);
}

/** Rejects ambiguous spellings (`010.0.0.0`, `10/8`) and networks of all addresses. */
function isNetwork(text: string): boolean {
  const [, address = '', length = '1'] = /^([\d.]+|[\da-f:.]+)(?:\/([1-9]\d{0,2}))?$/i.exec(text) ?? [];
  const longest = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
  return Number(length) <= longest;
}

/** Whether a URL authenticates its host. */
export function isTrustworthyUrl(text: string): boolean {
  const url = URL.parse(text);
  const isHere = /^(?:localhost|127(?:\.[0-9]+){3}|\[::1\])$/.test(url?.hostname ?? '');
  const isSecure = url?.protocol === 'https:' || (url?.protocol === 'http:' && isHere);
  return isSecure && `${url.username}${url.password}${url.hash}` === '';
}

function isReadableFile(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The spellings of `sslmode` and `ssl` that `pg` knows. It ignores others, and does not encrypt if the value is missing. */
const TLS_PARAMETER =
  /^(?:sslmode=(?:disable|allow|prefer|require|no-verify|verify-(?:ca|full))|ssl=(?:true|1|0|no-verify))$/;

/** `system` is of libpq; `pg` would read a file of this name. */
const OTHER_TLS_PARAMETER = new RegExp(`^(?:${OTHER_TLS_PARAMETERS.join('|')})=(?!system$)`);

/** Whether `pg` accepts the URL. Requires a database, because `pg` would use one named like the user. */
function isPostgresUrl(text: string): boolean {
  const { protocol = '', pathname = '', username = '', password = '', search = '' } = URL.parse(text) ?? {};
  const tls = search.split(/[?&]/).filter((each) => /^ssl/i.test(each) && !OTHER_TLS_PARAMETER.test(each));
  // With an unencoded `/` in the password, the user would be parsed as the host, and the rest as the database.
  const isPostgres = /^postgres(?:ql)?:$/.test(protocol) && /^\/[^/@]+$/.test(pathname);
  return isPostgres && [pathname, username, password].every(isDecodable) && tls.every((each) => TLS_PARAMETER.test(each));
}
