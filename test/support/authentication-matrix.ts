import { hostileTokens } from './hostile-tokens.js';
import type { IdentityProvider } from './identity-provider.js';
import { generateToken, digestOf } from '../../src/platform/auth/token-format.js';

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

/** A row of the matrix. */
export type Row<From = Credentials> = readonly [name: string, send: (from: From) => Sent, expected: Expected];

/** The header that carries a token as it should. */
export function bearer(token: string): Sent {
  return { headers: [`Authorization: Bearer ${token}`] };
}

function authorization(value: string): Sent {
  return { headers: [`Authorization: ${value}`] };
}

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

/** Shapes, spellings, places and ends of access tokens. */
export const tokenRows: readonly Row[] = [
  // No bearer credential
  ['no header', () => ({}), 'missing'],
  ['an empty header', () => authorization(''), 'missing'],
  ['blanks', () => authorization('   '), 'missing'],
  ['the scheme alone', () => authorization('Bearer'), 'missing'],
  ['the scheme and blanks', () => authorization('Bearer   '), 'missing'],
  ['the token alone', ({ good }) => authorization(good), 'missing'],
  ['no blank behind the scheme', ({ good }) => authorization(`Bearer${good}`), 'missing'],
  ['a colon behind the scheme', ({ good }) => authorization(`Bearer:${good}`), 'missing'],
  ['a tab behind the scheme', ({ good }) => authorization(`Bearer\t${good}`), 'missing'],
  ['half of the scheme', ({ good }) => authorization(`Bear ${good}`), 'missing'],
  ['Basic with the token as password', ({ good }) => authorization(`Basic ${btoa(`user:${good}`)}`), 'missing'],
  ['Basic with the token', ({ good }) => authorization(`Basic ${good}`), 'missing'],
  ['the scheme Token', ({ good }) => authorization(`Token ${good}`), 'missing'],
  ['the scheme DPoP', ({ good }) => authorization(`DPoP ${good}`), 'missing'],
  ['the scheme within another', ({ good }) => authorization(`Basic Bearer ${good}`), 'missing'],
  ['another header', ({ good }) => ({ headers: [`X-Access-Token: ${good}`] }), 'missing'],
  ['Proxy-Authorization', ({ good }) => ({ headers: [`Proxy-Authorization: Bearer ${good}`] }), 'missing'],
  ['a cookie', ({ good }) => ({ headers: [`Cookie: access_token=${good}; Authorization=Bearer ${good}`] }), 'missing'],
  // Spellings that mean the same
  ['the header as it should be', ({ good }) => bearer(good), 'accepted'],
  ['the scheme in lower case', ({ good }) => authorization(`bearer ${good}`), 'accepted'],
  ['the scheme in upper case', ({ good }) => authorization(`BEARER ${good}`), 'accepted'],
  ['the scheme in mixed case', ({ good }) => authorization(`bEaReR ${good}`), 'accepted'],
  ['several blanks behind the scheme', ({ good }) => authorization(`Bearer    ${good}`), 'accepted'],
  ['blanks around the value', ({ good }) => authorization(`  Bearer ${good}  `), 'accepted'],
  ['the name in lower case', ({ good }) => ({ headers: [`authorization: Bearer ${good}`] }), 'accepted'],
  ['the name in upper case', ({ good }) => ({ headers: [`AUTHORIZATION: Bearer ${good}`] }), 'accepted'],
  // Credentials in no form that is accepted
  ['the token and more', ({ good }) => bearer(`${good} x`), 'invalid'],
  ['the token and a parameter', ({ good }) => bearer(`${good}, realm="items"`), 'invalid'],
  ['two tokens', ({ good }) => bearer(`${good} ${good}`), 'invalid'],
  ['two credentials', ({ good }) => bearer(`${good}, Bearer ${good}`), 'invalid'],
  ['quotes', ({ good }) => bearer(`"${good}"`), 'invalid'],
  ['angle brackets', ({ good }) => bearer(`<${good}>`), 'invalid'],
  ['a name before it', ({ good }) => bearer(`token=${good}`), 'invalid'],
  ['percent-encoding', ({ good }) => bearer(good.replace('_', '%5F')), 'invalid'],
  ['base64', ({ good }) => bearer(btoa(good)), 'invalid'],
  ['a byte of Latin-1 behind it', ({ good }) => bearer(`${good}\u00e9`), 'invalid'],
  ['letters beyond ASCII', () => bearer(bytes('пароль')), 'invalid'],
  ['digits of another script', ({ good }) => bearer(bytes(good.replace(/[0-9]/, '１').replace(/[A-Za-z]$/, 'Ａ'))), 'invalid'],
  ['a blank of no width', ({ good }) => bearer(bytes(`\u200b${good}`)), 'invalid'],
  ['a byte order mark', ({ good }) => bearer(bytes(`\ufeff${good}`)), 'invalid'],
  ['an emoji', () => bearer(bytes('🔑')), 'invalid'],
  ['SQL', () => bearer("items_'OR'1'='1"), 'invalid'],
  ['JSON', () => bearer('{"$ne":null}'), 'invalid'],
  ['a path', () => bearer('../../etc/passwd'), 'invalid'],
  ['null', () => bearer('null'), 'invalid'],
  ['undefined', () => bearer('undefined'), 'invalid'],
  ['a property of every object', () => bearer('__proto__'), 'invalid'],
  ['another one', () => bearer('constructor'), 'invalid'],
  ['one character', () => bearer('x'), 'invalid'],
  ['8,000 characters', () => bearer('x'.repeat(8000)), 'invalid'],
  ['8,000 characters behind the prefix', () => bearer(`items_${'x'.repeat(8000)}`), 'invalid'],
  ['more than a header section may have', () => bearer('x'.repeat(20_000)), [431, 431, 431]],
  ['U+0000', ({ good }) => bearer(`${good}\u0000`), REFUSED_BY_PARSER],
  ['a control character', ({ good }) => bearer(`\u0001${good}`), REFUSED_BY_PARSER],
  ['a blank before the colon', ({ good }) => ({ headers: [`Authorization : Bearer ${good}`] }), REFUSED_BY_PARSER],
  // Tokens that are none
  ['the prefix alone', () => bearer('items_'), 'invalid'],
  ['a token without its prefix', ({ good }) => bearer(good.slice(6)), 'invalid'],
  ['the prefix of another service', ({ good }) => bearer(`other_${good.slice(6)}`), 'invalid'],
  ['the prefix in upper case', ({ good }) => bearer(`ITEMS_${good.slice(6)}`), 'invalid'],
  ['a token in lower case', ({ good }) => bearer(`${good.toLowerCase().slice(0, -1)}-`), 'invalid'],
  ['a shortened token', ({ good }) => bearer(good.slice(0, -1)), 'invalid'],
  ['a lengthened token', ({ good }) => bearer(`${good}0`), 'invalid'],
  ['padding behind it', ({ good }) => bearer(`${good}==`), 'invalid'],
  ['a wrong checksum', ({ good }) => bearer(good.slice(0, -1) + (good.endsWith('0') ? '1' : '0')), 'invalid'],
  ['another first character', ({ good }) => bearer(`items_${good[6] === '0' ? '1' : '0'}${good.slice(7)}`), 'invalid'],
  ['two characters swapped', ({ good }) => bearer(swapped(good)), 'invalid'],
  ['a token that was never issued', () => bearer(generateToken()), 'invalid'],
  ['the id of a token', ({ id }) => bearer(id), 'invalid'],
  ['the digest of a token in hex', ({ good }) => bearer(digestOf(good).toString('hex')), 'invalid'],
  ['the digest of a token in base64', ({ good }) => bearer(digestOf(good).toString('base64')), 'invalid'],
  // The life of a token
  ['an expired token', ({ expired }) => bearer(expired), 'invalid'],
  ['a revoked token', ({ revoked }) => bearer(revoked), 'invalid'],
  ['a rotated token', ({ rotated }) => bearer(rotated), 'invalid'],
  ['a rotated token within the overlap', ({ overlapping }) => bearer(overlapping), 'accepted'],
  ['what took its place', ({ replacement }) => bearer(replacement), 'accepted'],
  ['a token that expires later', ({ expiring }) => bearer(expiring), 'accepted'],
  ['a token for reading', ({ reader }) => bearer(reader), READS],
  ['a token for writing', ({ writer }) => bearer(writer), WRITES],
  // Duplicates
  ['the header twice', ({ good }) => ({ headers: Array.from({ length: 2 }, () => `Authorization: Bearer ${good}`) }), 'invalid'],
  [
    'a good one and a bad one',
    ({ good }) => ({ headers: [`Authorization: Bearer ${good}`, 'Authorization: Bearer x'] }),
    'invalid',
  ],
  [
    'a bad one and a good one',
    ({ good }) => ({ headers: ['Authorization: Bearer x', `Authorization: Bearer ${good}`] }),
    'invalid',
  ],
  ['Basic and Bearer', ({ good }) => ({ headers: ['Authorization: Basic dTpw', `Authorization: Bearer ${good}`] }), 'invalid'],
  ['an empty one and a good one', ({ good }) => ({ headers: ['Authorization:', `Authorization: Bearer ${good}`] }), 'invalid'],
  ['Basic twice', () => ({ headers: ['Authorization: Basic dTpw', 'Authorization: Basic dTpw'] }), 'missing'],
  // Query and body
  ['the query', ({ good }) => ({ query: `access_token=${good}` }), 'missing'],
  ['the query, twice', ({ good }) => ({ query: `access_token=${good}&access_token=${good}` }), 'missing'],
  ['the query, as a list', ({ good }) => ({ query: `access_token[]=${good}` }), 'missing'],
  ['the query, as an object', ({ good }) => ({ query: `access_token[token]=${good}` }), 'missing'],
  ['the query, beside a bad header', ({ good }) => ({ ...bearer('x'), query: `access_token=${good}` }), 'invalid'],
  ['the query, beside a good header', ({ good }) => ({ ...bearer(good), query: `access_token=${good}` }), [400, 400, 404]],
  ['a JSON body', ({ good }) => ({ body: JSON.stringify({ name: 'x', access_token: good }) }), 'missing'],
  ['a JSON body, as a list', ({ good }) => ({ body: JSON.stringify({ name: 'x', access_token: [good] }) }), 'missing'],
  [
    'a JSON body, beside a good header',
    ({ good }) => ({ ...bearer(good), body: JSON.stringify({ name: 'x', access_token: good }) }),
    [200, 400, 404],
  ],
  ['a form', ({ good }) => ({ body: `name=x&access_token=${good}`, mediaType: 'application/x-www-form-urlencoded' }), 'missing'],
  ['a malformed body and no token', () => ({ body: '{"name":' }), 'missing'],
  ['a large body and no token', () => ({ body: 'x'.repeat(100_000) }), 'missing'],
];

function seconds(fromNow: number): number {
  return Math.floor(Date.now() / 1000) + fromNow;
}

/** A row for a JWT of the provider. */
function issued(name: string, expected: Expected, ...given: Parameters<IdentityProvider['sign']>): JwtRow {
  return [name, async (provider) => bearer(await provider.sign(...given)), expected];
}

/** A row whose request has to be made of what the provider publishes. */
export type JwtRow = readonly [name: string, send: (provider: IdentityProvider) => Promise<Sent>, expected: Expected];

/** JWTs of the provider, good and not, and JWTs of attackers. */
export const jwtRows: readonly JwtRow[] = [
  issued('RS256', 'accepted'),
  issued('ES256', 'accepted', {}, { alg: 'ES256' }),
  issued('EdDSA', 'accepted', {}, { alg: 'EdDSA' }),
  issued('no kid, where one key fits', 'accepted', {}, { alg: 'ES256', kid: null }),
  issued('several audiences', 'accepted', { aud: ['another', 'items-api'] }),
  // Made when it is their turn: the rows before them take a while.
  ['expired within the leeway', async (provider) => bearer(await provider.sign({ exp: seconds(-5) })), 'accepted'],
  ['not yet valid, within the leeway', async (provider) => bearer(await provider.sign({ nbf: seconds(15) })), 'accepted'],
  issued('12,000 characters', 'accepted', { groups: 'x'.repeat(8500) }),
  issued('20,000 characters', [431, 431, 431], { groups: 'x'.repeat(15_000) }),
  issued('a scope for reading', READS, { scope: 'openid items:read' }),
  issued('a scope for writing, in scp', WRITES, { scp: ['items:write'] }),
  issued('scopes for both', 'accepted', { scope: 'items:read items:write' }),
  issued('other scopes', [403, 403, 404], { scope: 'openid profile' }),
  issued('no scope, said so', [403, 403, 404], { scope: '' }),
  ['one in the query', async (provider) => ({ query: `access_token=${await provider.sign()}` }), 'missing'],
  [
    'one beside an access token that is none',
    async (provider) => ({ headers: [`Authorization: Bearer ${await provider.sign()}`, 'Authorization: Bearer x'] }),
    'invalid',
  ],
  ...hostileTokens.map(([name, , make]): JwtRow => [name, async (provider) => bearer(await make(provider)), 'invalid']),
];
