import * as fc from 'fast-check';
import { generateToken } from '../../../src/platform/auth/token-format.js';
import { textsFrom } from './characters.js';
import type { Attempt, FuzzRequest } from './fuzz-request.js';

/** Tokens of this service. */
export interface Tokens {
  readonly good: string;
  readonly expired: string;
  readonly revoked: string;
  /** Good, and restricted to a scope that no operation needs. */
  readonly elsewhere: string;
}

/** Puts credentials, or what a client takes for them, into a request that has none. */
type Present = (request: FuzzRequest, { good, expired, revoked }: Tokens, text: string) => FuzzRequest;

const withField = (request: FuzzRequest, name: string, ...values: string[]): FuzzRequest => ({
  ...request,
  headers: [...request.headers, ...values.map((value) => [name, value] as const)],
});
const authorized =
  (make: (tokens: Tokens, text: string) => string | string[]): Present =>
  (request, tokens, text) =>
    withField(request, 'Authorization', ...[make(tokens, text)].flat());

const WAYS: readonly Present[] = [
  (request) => request,
  authorized(() => ''),
  authorized(() => 'Bearer'),
  authorized(({ good }) => good),
  authorized(({ good }) => `Basic ${btoa(`user:${good}`)}`),
  authorized(({ good }) => `Token ${good}`),
  authorized(({ good }) => `Bearer: ${good}`),
  authorized(({ good }) => `Bearer "${good}"`),
  authorized(({ good }) => `Bearer ${good} ${good}`),
  authorized(({ good }) => `Bearer ${good},Bearer ${good}`),
  authorized(({ good }) => [`Bearer ${good}`, `Bearer ${good}`]),
  authorized(({ good, revoked }) => [`Bearer ${revoked}`, `Bearer ${good}`]),
  authorized(({ good }) => `Bearer ${good.toLowerCase()}`),
  authorized(({ good }) => `Bearer ${good.slice(0, -1)}`),
  authorized(({ good }) => `Bearer ${good}x`),
  authorized(({ expired }) => `Bearer ${expired}`),
  authorized(({ revoked }) => `Bearer ${revoked}`),
  authorized(() => `Bearer ${generateToken()}`),
  authorized((_tokens, text) => `Bearer ${text}`),
  authorized((_tokens, text) => text),
  authorized(() => `Bearer ${btoa('{"alg":"none"}')}.${btoa('{"sub":"admin"}')}.`),
  (request, { good }) => ({
    ...request,
    target: `${request.target}${request.target.includes('?') ? '&' : '?'}access_token=${good}`,
  }),
  (request, { good }) => withField(request, 'Cookie', `access_token=${good}`),
  (request, { good }) => withField(request, 'X-Access-Token', good),
  (request, { good }) => withField(request, 'Proxy-Authorization', `Bearer ${good}`),
  (request, { good }) => ({
    ...request,
    headers: [['Content-Type', 'application/x-www-form-urlencoded']],
    body: `access_token=${good}`,
  }),
];

/** The same requests, whatever is wrong with them, without a credential that is good: refused before anything else. */
export function withoutCredentials(attempts: fc.Arbitrary<Attempt>, tokens: Tokens): fc.Arbitrary<Attempt> {
  const texts = textsFrom('abcXYZ019._~+/-=:, "\\\u00e9', { maxLength: 60 });
  return fc.tuple(attempts, fc.constantFrom(...WAYS), texts).map(([{ request, operation }, present, text]) => ({
    request: { ...present(request, tokens, text), hasOwnCredentials: true },
    operation,
    expected: { statuses: [401] },
  }));
}

/** The same with a token that may do other things: refused wherever there is an operation. */
export function withoutScope(attempts: fc.Arbitrary<Attempt>, { elsewhere }: Tokens): fc.Arbitrary<Attempt> {
  return attempts.map(({ request, operation, expected }) => ({
    request: { ...withField(request, 'Authorization', `Bearer ${elsewhere}`), hasOwnCredentials: true },
    operation,
    expected: operation ? { statuses: [403] } : expected,
  }));
}
