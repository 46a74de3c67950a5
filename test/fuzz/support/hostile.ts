import { METHODS } from 'node:http';
import * as fc from 'fast-check';
import { oneOf, textsFrom } from './characters.js';
import type { Described } from './described.js';
import { acceptedAttempt } from './constraint.js';
import { type Attempt, requestOf } from './fuzz-request.js';
import { hostileBodies, isValidBody } from './hostile-bodies.js';
import type { ValidDrafts } from './valid-drafts.js';

/** Requests of nobody who has read the document. What they may be answered follows from it all the same. */
export function hostileAttempts(all: readonly ValidDrafts[]): fc.Arbitrary<Attempt> {
  const paths = new Set(all.map(({ operation }) => operation.path));
  return fc.oneof(
    ...[...paths].map((path) => otherMethods(path, all)),
    otherPaths([...paths].filter((path) => !path.includes('{'))),
    ...all.flatMap((drafts) => [
      otherHeaders(drafts),
      otherQueries(drafts),
      ...(drafts.operation.body ? [otherBodies(drafts)] : []),
    ]),
  );
}

function otherMethods(path: string, all: readonly ValidDrafts[]): fc.Arbitrary<Attempt> {
  const documented = all.filter(({ operation }) => operation.path === path).map(({ operation }) => operation.method);
  // HEAD goes with GET, and CONNECT is for proxies.
  const others = METHODS.filter((method) => ![...documented, 'HEAD', 'CONNECT'].includes(method));
  return fc.tuple(fc.constantFrom(...others), hostileBodies).map(([method, body]) => ({
    request: { method, target: path.replaceAll(/\{\w+\}/g, 'x'), headers: [['Content-Type', 'application/json']], body },
    operation: undefined,
    expected: { statuses: [405] },
  }));
}

function otherPaths(paths: readonly string[]): fc.Arbitrary<Attempt> {
  const path = fc.constantFrom(...paths);
  const segment = fc.string({
    unit: fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).map(encodeURIComponent),
      oneOf('az09-._~!$&\'()*+,;=:@%|^`{}"<>[]\\'),
    ),
  });
  const near = fc.tuple(path, segment).chain(([known, text]) =>
    fc.constantFrom(
      `${known}/`,
      `/${known}`,
      `${known}/${text}/${text}`,
      `${known}${text}x`,
      known.toUpperCase(),
      known.replace('v1', 'v2'),
      known.replace('/v1', ''),
      known.replace(/.$/, (last) => `%${last.charCodeAt(0).toString(16)}`),
      `${known};${text}`,
      `/v1/..${known}`,
      `${known}/../..${known}`,
      `${known}%00`,
    ),
  );
  const far = fc.array(segment, { maxLength: 5 }).map((segments) => `/x${segments.map((text) => `/${text}`).join('')}`);
  return fc.tuple(fc.oneof(near, far), fc.constantFrom('GET', 'POST', 'DELETE')).map(([target, method]) => ({
    request: { method, target, headers: [] },
    operation: undefined,
    expected: { statuses: [404] },
  }));
}

const FIELDS = [
  'Accept',
  'Accept-Charset',
  'Accept-Encoding',
  'Accept-Language',
  'Cookie',
  'Forwarded',
  'From',
  'If-Match',
  'If-None-Match',
  'If-Modified-Since',
  'Max-Forwards',
  'Origin',
  'Prefer',
  'Range',
  'Referer',
  'User-Agent',
  'Via',
  'X-Forwarded-For',
  'X-Forwarded-Host',
  'X-Forwarded-Proto',
  'X-HTTP-Method-Override',
  'X-Original-URL',
  'X-Request-Id',
  'traceparent',
  'tracestate',
  'baggage',
  '__proto__',
  'constructor',
];

/** Headers that the document does not have: they change nothing. */
function otherHeaders(drafts: ValidDrafts): fc.Arbitrary<Attempt> {
  const values = fc.string({
    unit: fc
      .integer({ min: 0x20, max: 0xff })
      .filter((code) => code !== 0x7f)
      .map((code) => String.fromCharCode(code)),
    maxLength: 200,
  });
  const names = fc.oneof(
    fc.constantFrom(...FIELDS),
    textsFrom("abcXYZ019!#$%&'*+-.^_`|~", { minLength: 1, maxLength: 30 }).map((name) => `X${name}`),
  );
  return fc.tuple(drafts.drafts(), fc.array(fc.tuple(names, values), { minLength: 1, maxLength: 8 })).map(([draft, fields]) => {
    const request = requestOf(draft);
    return acceptedAttempt({ ...request, headers: [...request.headers, ...fields] }, drafts.operation);
  });
}

/** Anything after the question mark. Some of it happens to be right. */
function otherQueries({ operation }: ValidDrafts): fc.Arbitrary<Attempt> {
  const known = operation.parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  const text = fc.oneof(fc.string({ unit: 'binary' }).map(encodeURIComponent), textsFrom('%&=+;[]{}a0f!()"\'<>|'));
  const pair = fc.tuple(fc.oneof(text, ...known.map((name) => fc.constant(name))), text).map((parts) => parts.join('='));
  return fc.array(pair, { minLength: 1, maxLength: 4 }).map((pairs) => ({
    request: {
      method: operation.method,
      target: `${pathOf(operation)}?${pairs.join('&')}`,
      headers: [['Content-Type', 'application/json']],
      ...(operation.body && { body: '{}' }),
    },
    operation,
    expected: {
      statuses: operation.body ? [400] : [...operation.successes, 400, ...(pathOf(operation) === operation.path ? [] : [404])],
    },
  }));
}

/** Anything as body. */
function otherBodies({ operation }: ValidDrafts): fc.Arbitrary<Attempt> {
  return hostileBodies.map((body) => {
    const request = {
      method: operation.method,
      target: pathOf(operation),
      headers: [['Content-Type', 'application/json']] as const,
      body,
    };
    return isValidBody(operation, body)
      ? acceptedAttempt(request, operation)
      : { request, operation, expected: { statuses: [400] } };
  });
}

function pathOf({ path }: Described): string {
  return path.replaceAll(/\{\w+\}/g, '0190163d-8694-739b-aea5-966c26f8ad91');
}
