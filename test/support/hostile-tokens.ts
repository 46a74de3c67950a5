import { createHmac, createPublicKey } from 'node:crypto';
import { CompactEncrypt } from 'jose';
import type { RefusalReason } from '../../src/platform/auth/principal.js';
import { selfSignedCertificate } from './certificate.js';
import type { IdentityProvider } from './identity-provider.js';
import { SigningKey, signingInput } from './signing-key.js';

/** What it is, why it is refused, and how it is made of what the provider publishes. */
export type HostileToken = readonly [
  name: string,
  reason: RefusalReason,
  make: (provider: IdentityProvider) => Promise<string> | string,
];

/** Seconds since the epoch. */
function inSeconds(seconds: number): number {
  return Math.floor(Date.now() / 1000) + seconds;
}

function claimsOf({ issuer, audience }: IdentityProvider): object {
  return { iss: issuer, aud: audience, sub: 'mallory', exp: inSeconds(300) };
}

/** Signed with a key that the provider does not know. */
async function byStranger(provider: IdentityProvider, header: (key: SigningKey) => object | Promise<object>): Promise<string> {
  const key = await SigningKey.generate('RS256');
  return key.sign({ alg: 'RS256', ...(await header(key)) }, claimsOf(provider));
}

/** With the provider's own key and kid, but another header or payload. */
function byProvider(provider: IdentityProvider, header: object, payload: object | string = claimsOf(provider)): Promise<string> {
  const key = provider.key();
  return key.sign({ alg: 'RS256', kid: key.kid, ...header }, payload);
}

/** Takes the public key for the secret of an HMAC. */
function byHmac(provider: IdentityProvider, alg: string, hash: string, secret: string): string {
  const input = signingInput({ alg, typ: 'JWT', kid: provider.key().kid }, claimsOf(provider));
  return `${input}.${createHmac(hash, secret).update(input).digest('base64url')}`;
}

async function changed(token: string | Promise<string>, change: (parts: string[]) => (string | undefined)[]): Promise<string> {
  return change((await token).split('.')).join('.');
}

/** A flattened JWS, which is not compact (RFC 7515, section 7.2.2). */
async function asJson(token: Promise<string>): Promise<string> {
  const [header, payload, signature] = (await token).split('.');
  return JSON.stringify({ protected: header, payload, signature });
}

function encrypted(provider: IdentityProvider): Promise<string> {
  return new CompactEncrypt(Buffer.from(JSON.stringify(claimsOf(provider))))
    .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: provider.key().kid })
    .encrypt(createPublicKey(provider.key().publicPem));
}

/** The payload is signed as it is, and not encoded (RFC 7797). */
async function unencoded(provider: IdentityProvider): Promise<string> {
  const key = provider.key();
  const header = { alg: 'RS256', kid: key.kid, b64: false, crit: ['b64'] };
  const [encodedHeader] = signingInput(header, '').split('.');
  // Without a full stop, which would end the payload.
  const payload = JSON.stringify({ ...claimsOf(provider), iss: 'issuer' });
  return `${encodedHeader}.${payload}.${await key.signatureOf(`${encodedHeader}.${payload}`)}`;
}

/** The same payload in Base64url, signed in the form that it would have without it. */
function unencodedInDisguise(provider: IdentityProvider): Promise<string> {
  const key = provider.key();
  return key.sign({ alg: 'RS256', kid: key.kid, b64: false, crit: ['b64'] }, claimsOf(provider));
}

/** An ECDSA signature of two zeros, which faulty implementations find right for everything (CVE-2022-21449). */
function blank(provider: IdentityProvider): string {
  const input = signingInput({ alg: 'ES256', kid: provider.key('ES256').kid }, claimsOf(provider));
  return `${input}.${Buffer.alloc(64).toString('base64url')}`;
}

/** JWTs that must not be accepted, and must not make anybody ask for keys at an address that they name. */
export const hostileTokens: readonly HostileToken[] = [
  ['no signature, alg none', 'jwt-form', (provider) => `${signingInput({ alg: 'none' }, claimsOf(provider))}.`],
  ['alg none in another spelling', 'jwt-form', (provider) => byProvider(provider, { alg: 'nOnE' })],
  ['no alg', 'jwt-form', (provider) => byProvider(provider, { alg: undefined })],
  ['alg as a list', 'jwt-form', (provider) => byProvider(provider, { alg: ['RS256'] })],
  ['HS256 with the public key in PEM', 'jwt-form', (provider) => byHmac(provider, 'HS256', 'sha256', provider.key().publicPem)],
  [
    'HS256 with the public key as JWK',
    'jwt-form',
    (provider) => byHmac(provider, 'HS256', 'sha256', JSON.stringify(provider.key().publicJwk)),
  ],
  ['HS512 with an empty secret', 'jwt-form', (provider) => byHmac(provider, 'HS512', 'sha512', '')],
  ['an algorithm of the same key, PS256', 'jwt-form', (provider) => byProvider(provider, { alg: 'PS256' })],
  ['an algorithm of the same key, RS512', 'jwt-form', (provider) => byProvider(provider, { alg: 'RS512' })],
  ['an algorithm that does not exist', 'jwt-form', (provider) => byProvider(provider, { alg: '__proto__' })],
  ['an algorithm of another kind of key', 'jwt-key', (provider) => byProvider(provider, { alg: 'ES256' })],
  [
    'another claim than was signed',
    'jwt-signature',
    (provider) =>
      changed(provider.sign(), ([header = '', payload = '', signature]) => {
        const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
        return [header, Buffer.from(JSON.stringify({ ...claims, sub: 'admin' })).toString('base64url'), signature];
      }),
  ],
  ['a signature cut off', 'jwt-signature', (provider) => changed(provider.sign(), ([header, payload]) => [header, payload, ''])],
  [
    'the signature of another JWT',
    'jwt-signature',
    async (provider) => {
      const [, , other] = (await provider.sign({ sub: 'bob' })).split('.');
      return changed(provider.sign(), ([header, payload]) => [header, payload, other]);
    },
  ],
  ['a blank ECDSA signature', 'jwt-signature', blank],
  [
    "a stranger's key under a known kid",
    'jwt-signature',
    (provider) => byStranger(provider, () => ({ kid: provider.key().kid })),
  ],
  ["a stranger's key", 'jwt-key', (provider) => byStranger(provider, (key) => ({ kid: key.kid }))],
  ["a stranger's key in jwk", 'jwt-key', (provider) => byStranger(provider, (key) => ({ kid: key.kid, jwk: key.publicJwk }))],
  [
    "a stranger's key in jwk, under a known kid",
    'jwt-signature',
    (provider) => byStranger(provider, (key) => ({ kid: provider.key().kid, jwk: key.publicJwk })),
  ],
  [
    "a stranger's key at jku",
    'jwt-key',
    (provider) => byStranger(provider, (key) => ({ kid: key.kid, jku: `${provider.issuer}/elsewhere/keys` })),
  ],
  [
    "a stranger's certificate in x5c",
    'jwt-key',
    (provider) => byStranger(provider, async (key) => ({ kid: key.kid, x5c: [await selfSignedCertificate(key)] })),
  ],
  [
    "a stranger's certificate at x5u",
    'jwt-key',
    (provider) => byStranger(provider, (key) => ({ kid: key.kid, x5u: `${provider.issuer}/elsewhere/certificate` })),
  ],
  ['a path as kid', 'jwt-key', (provider) => byStranger(provider, () => ({ kid: '../../../../dev/null' }))],
  ['SQL as kid', 'jwt-key', (provider) => byStranger(provider, () => ({ kid: "' UNION SELECT 'secret" }))],
  ['a number as kid', 'jwt-key', (provider) => byStranger(provider, () => ({ kid: 1 }))],
  ['an unknown extension in crit', 'jwt-form', (provider) => byProvider(provider, { crit: ['exp'], exp: 1 })],
  ['an empty crit', 'jwt-form', (provider) => byProvider(provider, { crit: [] })],
  ['an unencoded payload', 'jwt-form', unencoded],
  ['a payload that says it is unencoded', 'jwt-form', unencodedInDisguise],
  ['a JWT in a JWT', 'jwt-form', async (provider) => byProvider(provider, { cty: 'JWT' }, await provider.sign())],
  ['an encrypted JWT', 'jwt-form', encrypted],
  ['a JWS in JSON', 'jwt-form', (provider) => asJson(provider.sign())],
  ['a list as payload', 'jwt-form', (provider) => byProvider(provider, {}, [claimsOf(provider)])],
  ['null as payload', 'jwt-form', (provider) => byProvider(provider, {}, 'null')],
  ['a text as payload', 'jwt-form', (provider) => byProvider(provider, {}, 'text')],
  [
    'a list as header',
    'jwt-form',
    (provider) => changed(provider.sign(), ([, payload, signature]) => ['W10', payload, signature]),
  ],
  ['two parts', 'jwt-form', (provider) => changed(provider.sign(), ([header, payload]) => [header, payload])],
  ['four parts', 'jwt-form', (provider) => changed(provider.sign(), (parts) => [...parts, 'x'])],
  ['nothing but full stops', 'jwt-form', () => '..'],
  ['another issuer', 'jwt-claims', (provider) => provider.sign({ iss: 'https://issuer.example' })],
  ['the issuer with a slash', 'jwt-claims', (provider) => provider.sign({ iss: `${provider.issuer}/` })],
  [
    'the issuer in a list',
    'jwt-claims',
    (provider) => byProvider(provider, {}, { ...claimsOf(provider), iss: [provider.issuer] }),
  ],
  ['no issuer', 'jwt-claims', (provider) => byProvider(provider, {}, { ...claimsOf(provider), iss: undefined })],
  ['another audience', 'jwt-claims', (provider) => provider.sign({ aud: 'another-api' })],
  ['a longer audience', 'jwt-claims', (provider) => provider.sign({ aud: [`${provider.audience}/v2`, 'another-api'] })],
  ['no audience', 'jwt-claims', (provider) => byProvider(provider, {}, { ...claimsOf(provider), aud: undefined })],
  ['no expiry', 'jwt-claims', (provider) => byProvider(provider, {}, { ...claimsOf(provider), exp: undefined })],
  [
    'an expiry as a text',
    'jwt-claims',
    (provider) => byProvider(provider, {}, { ...claimsOf(provider), exp: String(inSeconds(300)) }),
  ],
  ['an expiry beyond the leeway', 'jwt-expired', (provider) => provider.sign({ exp: inSeconds(-31) })],
  ['a time before which it is not valid', 'jwt-not-yet', (provider) => provider.sign({ nbf: inSeconds(60) })],
  ['such a time as a text', 'jwt-claims', (provider) => byProvider(provider, {}, { ...claimsOf(provider), nbf: 'now' })],
  ['no subject', 'jwt-claims', (provider) => byProvider(provider, {}, { ...claimsOf(provider), sub: undefined })],
  ['an empty subject', 'jwt-claims', (provider) => provider.sign({ sub: '' })],
  ['a number as subject', 'jwt-claims', (provider) => byProvider(provider, {}, { ...claimsOf(provider), sub: 1 })],
  ['a subject of 256 characters', 'jwt-claims', (provider) => provider.sign({ sub: 'x'.repeat(256) })],
  ['a subject of two lines', 'jwt-claims', (provider) => provider.sign({ sub: 'alice\nmsg="let in"' })],
  ['a subject that turns the direction of writing', 'jwt-claims', (provider) => provider.sign({ sub: 'ecila\u202e' })],
  ['a subject that is no Unicode', 'jwt-claims', (provider) => provider.sign({ sub: '\ud800' })],
  ['a number as scope', 'jwt-claims', (provider) => provider.sign({ scope: 1 })],
  ['null as scope', 'jwt-claims', (provider) => provider.sign({ scope: null, scp: 'items:read' })],
  ['a scope that is no text', 'jwt-claims', (provider) => provider.sign({ scp: ['items:read', 1] })],
];
