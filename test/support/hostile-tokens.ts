import { createHmac, createPublicKey } from 'node:crypto';
import { CompactEncrypt } from 'jose';
import type { RefusalReason } from '../../src/platform/auth/principal.js';
import type { IdentityProvider } from './identity-provider.js';
import { SigningKey, signingInput } from './signing-key.js';

type Make = (idp: IdentityProvider) => Promise<string> | string;

/** Description, reason of the refusal, and a function that makes the token from the provider's published data. */
export type HostileToken = readonly [name: string, reason: RefusalReason, make: Make];

/** Seconds since the epoch. */
export function inSeconds(seconds: number): number {
  return Math.floor(Date.now() / 1000) + seconds;
}

function claimsOf({ issuer, audience }: IdentityProvider): object {
  return { iss: issuer, aud: audience, sub: 'mallory', exp: inSeconds(300) };
}

/** Signed with a key that the provider does not know. */
function byStranger(header: (key: SigningKey, idp: IdentityProvider) => object): Make {
  return async (idp) => {
    const key = await SigningKey.generate('RS256');
    return key.sign({ alg: 'RS256', ...header(key, idp) }, claimsOf(idp));
  };
}

/** With the provider's own key and kid, but another header or payload. */
function byProvider(header: object, payload?: object | string): Make {
  return (idp) => idp.key().sign({ alg: 'RS256', kid: idp.key().kid, ...header }, payload ?? claimsOf(idp));
}

/** With other claims than the provider's. */
function claiming(claims: Record<string, unknown>): Make {
  return (idp) => idp.sign(claims);
}

/** Takes the public key for the secret of an HMAC. */
function byHmac(secretOf: (key: SigningKey) => string): Make {
  return (idp) => {
    const input = signingInput({ alg: 'HS256', typ: 'JWT', kid: idp.key().kid }, claimsOf(idp));
    return `${input}.${createHmac('sha256', secretOf(idp.key())).update(input).digest('base64url')}`;
  };
}

function changed(change: (...parts: string[]) => (string | undefined)[]): Make {
  return async (idp) => change(...(await idp.sign()).split('.')).join('.');
}

function encrypted(idp: IdentityProvider): Promise<string> {
  return new CompactEncrypt(Buffer.from(JSON.stringify(claimsOf(idp))))
    .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: idp.key().kid })
    .encrypt(createPublicKey(idp.key().publicPem));
}

/** The payload is signed as it is, and not encoded (RFC 7797). */
async function unencoded(idp: IdentityProvider): Promise<string> {
  const key = idp.key();
  const [header] = signingInput({ alg: 'RS256', kid: key.kid, b64: false, crit: ['b64'] }, '').split('.');
  // Without a full stop, which would end the payload.
  const input = `${header}.${JSON.stringify({ ...claimsOf(idp), iss: 'issuer' })}`;
  return `${input}.${await key.signatureOf(input)}`;
}

/** An ECDSA signature of two zeros, which faulty implementations accept for everything (CVE-2022-21449). */
function blank(idp: IdentityProvider): string {
  const input = signingInput({ alg: 'ES256', kid: idp.key('ES256').kid }, claimsOf(idp));
  return `${input}.${Buffer.alloc(64).toString('base64url')}`;
}

function otherClaim(header = '', payload = '', signature = ''): string[] {
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
  return [header, Buffer.from(JSON.stringify({ ...claims, sub: 'admin' })).toString('base64url'), signature];
}

const TOKENS: Partial<Record<RefusalReason, Record<string, Make>>> = {
  'jwt-form': {
    'no signature, alg none': (idp) => `${signingInput({ alg: 'none' }, claimsOf(idp))}.`,
    'alg none in another spelling': byProvider({ alg: 'nOnE' }),
    'alg as a list': byProvider({ alg: ['RS256'] }),
    'HS256 with the public key in PEM': byHmac((key) => key.publicPem),
    'HS256 with an empty secret': byHmac(() => ''),
    'an algorithm of the same key, PS256': byProvider({ alg: 'PS256' }),
    'an unknown extension in crit': byProvider({ crit: ['exp'], exp: 1 }),
    'an unencoded payload': unencoded,
    'an encrypted JWT': encrypted,
    'a JWT in a JWT': async (idp) => byProvider({ cty: 'JWT' }, await idp.sign())(idp),
    'a JWT for another use': byProvider({ typ: 'logout+jwt' }),
    'a type that only begins like one': byProvider({ typ: 'at+jwt; charset=utf-8' }),
    'a list as type': byProvider({ typ: ['JWT'] }),
    'no text as type': byProvider({ typ: null }),
    'a list as payload': byProvider({}, [{ sub: 'mallory' }]),
    'two parts': changed((header, payload) => [header, payload]),
    'nothing but full stops': () => '..',
  },
  'jwt-key': {
    'an algorithm of another kind of key': byProvider({ alg: 'ES256' }),
    "a stranger's key in jwk": byStranger(({ kid, publicJwk }) => ({ kid, jwk: publicJwk })),
    "a stranger's key at jku": byStranger(({ kid }, { issuer }) => ({ kid, jku: `${issuer}/elsewhere/keys` })),
    "a stranger's certificate at x5u": byStranger(({ kid }, { issuer }) => ({
      kid,
      x5u: `${issuer}/elsewhere/certificate`,
    })),
    'a path as kid': byStranger(() => ({ kid: '../../../../dev/null' })),
    'a number as kid': byStranger(() => ({ kid: 1 })),
  },
  'jwt-signature': {
    'another claim than was signed': changed(otherClaim),
    'a signature cut off': changed((header, payload) => [header, payload, '']),
    'a blank ECDSA signature': blank,
    "a stranger's key in jwk, under a known kid": byStranger((key, idp) => ({ kid: idp.key().kid, jwk: key.publicJwk })),
  },
  'jwt-claims': {
    'another issuer': claiming({ iss: 'https://issuer.example' }),
    'the issuer with a slash': (idp) => idp.sign({ iss: `${idp.issuer}/` }),
    'no issuer': claiming({ iss: undefined }),
    'another audience': claiming({ aud: ['items-api/v2', 'another-api'] }),
    'no audience': claiming({ aud: undefined }),
    'no expiry': claiming({ exp: undefined }),
    'an expiry as a text': claiming({ exp: String(inSeconds(300)) }),
    'a text as the time before which it is not valid': claiming({ nbf: String(inSeconds(-300)) }),
    'no subject': claiming({ sub: undefined }),
    'a number as subject': claiming({ sub: 1 }),
    'a subject of 256 characters': claiming({ sub: 'x'.repeat(256) }),
    'a subject of two lines': claiming({ sub: 'alice\nmsg="let in"' }),
    'a number as scope': claiming({ scope: 1 }),
    'null as scope': claiming({ scope: null, scp: 'items:read' }),
    'a scope that is no text': claiming({ scp: ['items:read', 1] }),
  },
  'jwt-expired': { 'an expiry beyond the leeway': (idp) => idp.sign({ exp: inSeconds(-31) }) },
  'jwt-not-yet': { 'a time before which it is not valid': (idp) => idp.sign({ nbf: inSeconds(60) }) },
};

/** JWTs that must not be accepted, and must not make anybody ask for keys at an address that they name. */
export const hostileTokens: readonly HostileToken[] = Object.entries(TOKENS).flatMap(([reason, makes]) =>
  Object.entries(makes).map(([name, make]): HostileToken => [name, reason as RefusalReason, make]),
);
