import { METHODS } from 'node:http';
import * as fc from 'fast-check';
import { generateToken } from '../../../src/platform/auth/token-format.js';
import { accepted, type Attempt, type Described, type Drafts, type FuzzRequest, requestOf } from './requests.js';
import { asObject, isValid } from './values.js';

const JSON_TYPE = [['Content-Type', 'application/json']] as const;

function textsFrom(characters: string, lengths: { minLength?: number; maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.string({ unit: fc.constantFrom(...Array.from(characters)), ...lengths });
}

const depths = fc.integer({ min: 1, max: 5000 });
const numbers = ['1e999', '-1e999', '9'.repeat(5000), `0.${'0'.repeat(5000)}1`, '-0', '1E-400'];

/** Bytes, any JSON, much of it, and what JavaScript may take for something else. */
const bodies: fc.Arbitrary<string | Uint8Array<ArrayBuffer>> = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.json({ stringUnit: 'binary' }),
  fc.string({ unit: 'binary' }),
  fc.tuple(depths, fc.constantFrom('[', '{"a":', '{"name":', '[{"a":')).map(([depth, opening]) => opening.repeat(depth)),
  depths.map((depth) => `${'['.repeat(depth)}${']'.repeat(depth)}`),
  depths.map((depth) => `${'{"name":'.repeat(depth)}1${'}'.repeat(depth)}`),
  fc.constantFrom(...numbers).map((number) => `{"name":"x","price":${number},"limit":${number}}`),
  fc.constantFrom('__proto__', 'constructor').map((name) => `{"name":"x","${name}":{"name":"y","isAdmin":true}}`),
  fc.constantFrom('', '\0', '\ufeff', ...'null true "" [] [{"name":"x"}] NaN <a/> name=x {}{} {"name":["x"]}'.split(' ')),
  fc.constantFrom('{"name":"\\ud800"}', '{"name":"\\u0000"}', '{"name":{"$gt":""}}'),
);

/** Requests of clients that have not read the document. The right response follows from it all the same. */
export function hostileAttempts(all: readonly Drafts[]): fc.Arbitrary<Attempt> {
  const paths = [...new Set(all.map(({ operation }) => operation.path))];
  return fc.oneof(
    ...paths.map((path) => otherMethods(path, all)),
    otherPaths(paths.filter((path) => !path.includes('{'))),
    ...all.flatMap((drafts) => [
      otherHeaders(drafts),
      otherQueries(drafts),
      ...(drafts.operation.body ? [otherBodies(drafts)] : []),
    ]),
  );
}

function otherMethods(path: string, all: readonly Drafts[]): fc.Arbitrary<Attempt> {
  const documented = all.filter(({ operation }) => operation.path === path).map(({ operation }) => operation.method);
  // HEAD goes with GET, and CONNECT is for proxies.
  const others = METHODS.filter((method) => ![...documented, 'HEAD', 'CONNECT'].includes(method));
  return fc.tuple(fc.constantFrom(...others), bodies).map(([method, body]) => ({
    request: { method, target: path.replaceAll(/\{\w+\}/g, 'x'), headers: JSON_TYPE, body },
    operation: undefined,
    statuses: [405],
  }));
}

function otherPaths(paths: readonly string[]): fc.Arbitrary<Attempt> {
  const encoded = fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).map(encodeURIComponent);
  const segment = fc.string({ unit: fc.oneof(encoded, fc.constantFrom(...Array.from('az09-._~!$&\'()*+,;=:@%|^`{}"<>[]\\'))) });
  const near = fc.tuple(fc.constantFrom(...paths), segment).chain(([path, text]) =>
    fc.constantFrom(
      `${path}/`,
      `/${path}`,
      `${path}/${text}/${text}`,
      `${path}${text}x`,
      `${path};${text}`,
      `${path}%00`,
      path.toUpperCase(),
      path.replace('v1', 'v2'),
      path.replace('/v1', ''),
      `/v1/..${path}`,
      `${path}/../..${path}`,
      path.replace(/.$/, (last) => `%${last.charCodeAt(0).toString(16)}`),
    ),
  );
  const far = fc.array(segment, { maxLength: 5 }).map((segments) => `/x${segments.map((text) => `/${text}`).join('')}`);
  return fc.tuple(fc.oneof(near, far), fc.constantFrom('GET', 'POST', 'DELETE')).map(([target, method]) => ({
    request: { method, target, headers: [] },
    operation: undefined,
    statuses: [404],
  }));
}

const FIELDS =
  'Accept Accept-Charset Accept-Encoding Accept-Language Cookie Forwarded From If-Match If-None-Match If-Modified-Since ' +
  'Max-Forwards Origin Prefer Range Referer User-Agent Via X-Forwarded-For X-Forwarded-Host X-Forwarded-Proto ' +
  'X-HTTP-Method-Override X-Original-URL X-Request-Id traceparent tracestate baggage __proto__ constructor';

/** Headers that the document does not have: they change nothing. */
function otherHeaders({ all, operation }: Drafts): fc.Arbitrary<Attempt> {
  const codes = fc.integer({ min: 0x20, max: 0xff }).filter((code) => code !== 0x7f);
  const values = fc.string({ unit: codes.map((code) => String.fromCharCode(code)), maxLength: 200 });
  const unknown = textsFrom("abcXYZ019!#$%&'*+-.^_`|~", { minLength: 1, maxLength: 30 }).map((name) => `X${name}`);
  const field = fc.tuple(fc.oneof(fc.constantFrom(...FIELDS.split(' ')), unknown), values);
  return fc.tuple(all, fc.array(field, { minLength: 1, maxLength: 8 })).map(([draft, fields]) => {
    const request = requestOf(draft);
    return accepted({ ...request, headers: [...request.headers, ...fields] }, operation);
  });
}

/** Anything after the question mark. Some of it happens to be right. */
function otherQueries({ operation }: Drafts): fc.Arbitrary<Attempt> {
  const { method, path, parameters, body, successes } = operation;
  const known = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  const text = fc.oneof(fc.string({ unit: 'binary' }).map(encodeURIComponent), textsFrom('%&=+;[]{}a0f!()"\'<>|'));
  const pair = fc.tuple(fc.oneof(text, ...known.map((name) => fc.constant(name))), text).map((parts) => parts.join('='));
  const statuses = body ? [400] : [...successes, 400, ...(path.includes('{') ? [404] : [])];
  return fc.array(pair, { minLength: 1, maxLength: 4 }).map((pairs) => ({
    request: { method, target: `${targetOf(operation)}?${pairs.join('&')}`, headers: JSON_TYPE, ...(body && { body: '{}' }) },
    operation,
    statuses,
  }));
}

function otherBodies({ operation }: Drafts): fc.Arbitrary<Attempt> {
  return bodies.map((body) => {
    const request = { method: operation.method, target: targetOf(operation), headers: JSON_TYPE, body };
    return isValidBody(operation, body) ? accepted(request, operation) : { request, operation, statuses: [400] };
  });
}

function targetOf({ path }: Described): string {
  return path.replaceAll(/\{\w+\}/g, '0190163d-8694-739b-aea5-966c26f8ad91');
}

function isValidBody({ body: schema = {} }: Described, body: string | Uint8Array<ArrayBuffer>): boolean {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(body)));
    // Half of a character is no text, whatever JSON Schema thinks of it (RFC 8259, section 8.2).
    return isValid(schema, value) && Object.values(asObject(value)).every((text) => String(text).isWellFormed());
  } catch {
    return false;
  }
}

/** Tokens of the service that let nobody in: the last one is good, and restricted to a scope that no operation needs. */
export interface Tokens {
  good: string;
  expired: string;
  revoked: string;
  elsewhere: string;
}

/** The same requests, whatever is wrong with them, without a credential that is good: refused before anything else. */
export function withoutCredentials(attempts: fc.Arbitrary<Attempt>, tokens: Tokens): fc.Arbitrary<Attempt> {
  const { good, expired, revoked } = tokens;
  const texts = textsFrom('abcXYZ019._~+/-=:, "\\\u00e9', { maxLength: 60 });
  // The suite of authentication has every spelling and place; here they meet requests that are wrong otherwise.
  const ways = fc.oneof(
    fc.constantFrom([], [''], [good], [expired], [`Bearer ${expired}`], [`Bearer ${revoked}`], [`Bearer ${good} ${good}`]),
    fc.constantFrom([`Bearer ${good}`, `Bearer ${good}`], [`Bearer ${revoked}`, `Bearer ${good}`], [`Bearer ${generateToken()}`]),
    texts.chain((text) => fc.constantFrom([text], [`Bearer ${text}`])),
  );
  const inQuery = ({ target }: FuzzRequest) => `${target}${target.includes('?') ? '&' : '?'}access_token=${good}`;
  return fc.tuple(attempts, ways, fc.boolean()).map(([{ request, operation }, credentials, isInQuery]) => ({
    request: { ...withAuthorization(request, ...credentials), ...(isInQuery && { target: inQuery(request) }) },
    operation,
    statuses: [401],
  }));
}

/** The same with a token that may do other things: refused wherever there is an operation. */
export function withoutScope(attempts: fc.Arbitrary<Attempt>, { elsewhere }: Tokens): fc.Arbitrary<Attempt> {
  return attempts.map(({ request, operation, ...others }) => ({
    request: withAuthorization(request, `Bearer ${elsewhere}`),
    operation,
    ...(operation ? { statuses: [403] } : others),
  }));
}

function withAuthorization(request: FuzzRequest, ...values: string[]): FuzzRequest {
  const fields = values.map((value) => ['Authorization', value] as const);
  return { ...request, headers: [...request.headers, ...fields], hasOwnCredentials: true };
}
