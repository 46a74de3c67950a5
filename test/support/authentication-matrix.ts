import { digestOf, generateToken } from '../../src/platform/auth/token-format.js';
import { hostileTokens } from './hostile-tokens.js';
import type { IdentityProvider } from './identity-provider.js';

/** What a row has to work with. */
export interface Credentials {
  good: string;
  expired: string;
  revoked: string;
  /** Rotated, and past the overlap. */
  rotated: string;
  /** Rotated, and within the overlap. */
  overlapping: string;
  /** What took its place. */
  replacement: string;
  /** Valid for another hour. */
  expiring: string;
  reader: string;
  writer: string;
  /** Id of the good token. */
  id: string;
}

/** A request as a row has it sent: lines of the header section, in Latin-1, and what is added to path and body. */
export interface Sent {
  headers?: readonly string[];
  query?: string;
  body?: string;
  mediaType?: string;
}

/**
 * What answers it: `accepted` lists, creates, and finds nothing at the wrong path; the others are 401 with a challenge. Or the
 * statuses of the list, the create and the wrong path.
 */
export type Expected = 'accepted' | 'missing' | 'invalid' | readonly [number, number, number];

/** A row of the matrix, with requests that are answered alike. */
export type Row<From> = readonly [name: string, send: (from: From) => Sent[] | Promise<Sent[]>, expected: Expected];

/** The header that carries a token as it should. */
export function bearer(token: string): Sent {
  return { headers: [`Authorization: Bearer ${token}`] };
}

/** Lines of a header section each, where `$` is the good token. */
const lines =
  (...sections: string[][]) =>
  ({ good }: Credentials): Sent[] =>
    sections.map((headers) => ({ headers: headers.map((line) => line.replaceAll('$', good)) }));

/** Values of `Authorization`. */
const values = (...texts: string[]) => lines(...texts.map((text) => [`Authorization: ${text}`]));

/** Credentials made of all that there are. */
const tokens =
  (make: (credentials: Credentials) => string[]) =>
  (credentials: Credentials): Sent[] =>
    make(credentials).map(bearer);

/** Bytes of UTF-8, one character each. */
function bytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}

function swapped(token: string): string {
  const [first = '', second = ''] = token.slice(6, 8);
  return first === second ? `${token.slice(0, -1)}-` : token.slice(0, 6) + second + first + token.slice(8);
}

const READS = [200, 403, 404] as const;
const WRITES = [403, 201, 404] as const;
const REFUSED_BY_PARSER = [400, 400, 400] as const;
const TOO_LARGE = [431, 431, 431] as const;

/** Shapes, spellings, places and ends of access tokens. */
export const tokenRows: readonly Row<Credentials>[] = [
  // No bearer credential
  ['no header', () => [{}], 'missing'],
  ['no token behind the scheme', values('', '   ', 'Bearer', 'Bearer   '), 'missing'],
  ['no scheme, or no blank behind it', values('$', 'Bearer$', 'Bearer:$', 'Bearer\t$', 'Bear $'), 'missing'],
  ['another scheme', values('Basic $', 'Token $', 'DPoP $', 'Basic Bearer $'), 'missing'],
  ['Basic with the token as password', ({ good }) => [{ headers: [`Authorization: Basic ${btoa(`user:${good}`)}`] }], 'missing'],
  ['another header', lines(['X-Access-Token: $'], ['Proxy-Authorization: Bearer $'], ['Cookie: access_token=$']), 'missing'],
  // Spellings that mean the same
  ['the scheme in any case', values('Bearer $', 'bearer $', 'BEARER $', 'bEaReR $'), 'accepted'],
  ['more blanks', values('Bearer    $', '  Bearer $  '), 'accepted'],
  ['the name in any case', lines(['authorization: Bearer $'], ['AUTHORIZATION: Bearer $']), 'accepted'],
  // Credentials in no form that is accepted
  ['the token and more', values('Bearer $ x', 'Bearer $, realm="items"', 'Bearer $ $', 'Bearer $, Bearer $'), 'invalid'],
  ['something around the token', values('Bearer "$"', 'Bearer <$>', 'Bearer token=$', 'Bearer $\u00e9'), 'invalid'],
  ['another encoding', tokens(({ good }) => [good.replace('_', '%5F'), btoa(good)]), 'invalid'],
  ['characters beyond ASCII', tokens(({ good }) => ['пароль', '🔑', `\u200b${good}`, `\ufeff${good}`].map(bytes)), 'invalid'],
  ['digits of another script', tokens(({ good }) => [bytes(good.replace(/[0-9]|$/, '１'))]), 'invalid'],
  ['what others would evaluate', values("Bearer items_'OR'1'='1", 'Bearer {"#ne":null}', 'Bearer ../../etc/passwd'), 'invalid'],
  ['names that programs have', values('Bearer null', 'Bearer undefined', 'Bearer __proto__', 'Bearer constructor'), 'invalid'],
  ['one character, and many', tokens(() => ['x', 'x'.repeat(8000), `items_${'x'.repeat(8000)}`]), 'invalid'],
  ['more than a header section may have', tokens(() => ['x'.repeat(20_000)]), TOO_LARGE],
  ['a control character', values('Bearer $\u0000', 'Bearer \u0001$'), REFUSED_BY_PARSER],
  ['a blank before the colon', lines(['Authorization : Bearer $']), REFUSED_BY_PARSER],
  // Tokens that are none
  ['another prefix', tokens(({ good }) => ['', 'other_', 'ITEMS_'].map((prefix) => prefix + good.slice(6))), 'invalid'],
  ['another length', tokens(({ good }) => ['items_', good.slice(0, -1), `${good}0`, `${good}==`]), 'invalid'],
  ['a token in lower case', tokens(({ good }) => [`${good.toLowerCase().slice(0, -1)}-`]), 'invalid'],
  ['a wrong checksum', tokens(({ good }) => [good.slice(0, -1) + (good.endsWith('0') ? '1' : '0')]), 'invalid'],
  ['another first character', tokens(({ good }) => [`items_${good[6] === '0' ? '1' : '0'}${good.slice(7)}`]), 'invalid'],
  ['two characters swapped', tokens(({ good }) => [swapped(good)]), 'invalid'],
  ['a token that was never issued', tokens(() => [generateToken()]), 'invalid'],
  ['the id of a token', tokens(({ id }) => [id]), 'invalid'],
  ['the digest', tokens(({ good }) => (['hex', 'base64'] as const).map((code) => digestOf(good).toString(code))), 'invalid'],
  // The life of a token
  ['a token that is over', tokens(({ expired, revoked, rotated }) => [expired, revoked, rotated]), 'invalid'],
  ['a token in use', tokens(({ overlapping, replacement, expiring }) => [overlapping, replacement, expiring]), 'accepted'],
  ['a token for reading', tokens(({ reader }) => [reader]), READS],
  ['a token for writing', tokens(({ writer }) => [writer]), WRITES],
  // Duplicates
  ['the header twice', lines(['Authorization: Bearer $', 'Authorization: Bearer $']), 'invalid'],
  ['a good one before a bad one', lines(['Authorization: Bearer $', 'Authorization: Bearer x']), 'invalid'],
  ['a good one behind a bad one', lines(['Authorization: Bearer x', 'Authorization: Bearer $']), 'invalid'],
  ['a good one behind Basic', lines(['Authorization: Basic dTpw', 'Authorization: Bearer $']), 'invalid'],
  ['a good one behind an empty one', lines(['Authorization:', 'Authorization: Bearer $']), 'invalid'],
  ['Basic twice', lines(['Authorization: Basic dTpw', 'Authorization: Basic dTpw']), 'missing'],
  // Query and body
  [
    'the query',
    ({ good }) =>
      ['=$', '=$&access_token=$', '[]=$', '[token]=$'].map((text) => ({ query: `access_token${text}`.replaceAll('$', good) })),
    'missing',
  ],
  ['the query, beside a bad header', ({ good }) => [{ ...bearer('x'), query: `access_token=${good}` }], 'invalid'],
  ['the query, beside a good header', ({ good }) => [{ ...bearer(good), query: `access_token=${good}` }], [400, 400, 404]],
  [
    'a JSON body',
    ({ good }) => [good, [good]].map((access_token) => ({ body: JSON.stringify({ name: 'x', access_token }) })),
    'missing',
  ],
  [
    'a JSON body, beside a good header',
    ({ good }) => [{ ...bearer(good), body: JSON.stringify({ name: 'x', access_token: good }) }],
    [200, 400, 404],
  ],
  ['a form', ({ good }) => [{ body: `name=x&access_token=${good}`, mediaType: 'application/x-www-form-urlencoded' }], 'missing'],
  ['a malformed or large body and no token', () => [{ body: '{"name":' }, { body: 'x'.repeat(100_000) }], 'missing'],
];

/** A row for JWTs of the provider. */
function issued(name: string, expected: Expected, ...given: Parameters<IdentityProvider['sign']>[]): Row<IdentityProvider> {
  const send = async (provider: IdentityProvider) =>
    (await Promise.all(given.map((parameters) => provider.sign(...parameters)))).map(bearer);
  return [name, send, expected];
}

/** JWTs of the provider, good and not, and JWTs of attackers. */
export const jwtRows: readonly Row<IdentityProvider>[] = [
  issued('each algorithm', 'accepted', [], [{}, { alg: 'ES256' }], [{}, { alg: 'EdDSA' }]),
  issued('no kid, where one key fits', 'accepted', [{}, { alg: 'ES256', kid: null }]),
  issued('several audiences', 'accepted', [{ aud: ['another', 'items-api'] }]),
  issued('12,000 characters', 'accepted', [{ groups: 'x'.repeat(8500) }]),
  issued('20,000 characters', TOO_LARGE, [{ groups: 'x'.repeat(15_000) }]),
  issued('a scope for reading', READS, [{ scope: 'openid items:read' }]),
  issued('a scope for writing, in scp', WRITES, [{ scp: ['items:write'] }]),
  issued('scopes for both', 'accepted', [{ scope: 'items:read items:write' }]),
  issued('other scopes, or none, said so', [403, 403, 404], [{ scope: 'openid profile' }], [{ scope: '' }]),
  ['one in the query', async (provider) => [{ query: `access_token=${await provider.sign()}` }], 'missing'],
  [
    'one beside an access token that is none',
    async (provider) => [{ headers: [`Authorization: Bearer ${await provider.sign()}`, 'Authorization: Bearer x'] }],
    'invalid',
  ],
  ...hostileTokens.map(([name, , make]): Row<IdentityProvider> => [name, async (idp) => [bearer(await make(idp))], 'invalid']),
];
