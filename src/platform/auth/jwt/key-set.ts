import { createLocalJWKSet, type CryptoKey, type JSONWebKeySet, type JWK } from 'jose';
import { isTrustworthyUrl } from '../../config/variables.decorator.js';
import { fetchJson, withoutQuery } from './fetch-json.js';

/** Algorithms in which JWTs may be signed: each has one kind of key, so that none can be taken for another's. */
export const ALGORITHMS: readonly string[] = ['RS256', 'ES256', 'EdDSA'];

/** Shortest RSA key that is used, in bits (RFC 7518, section 3.3). */
const SHORTEST_RSA_KEY = 2048;

/** Where an issuer publishes its keys. */
export interface KeySource {
  readonly issuer: string;
  /** Undefined: where the issuer's metadata says. */
  readonly keysUrl: string | undefined;
}

/**
 * Fetches the keys of an issuer. Those of other kinds, and malformed ones, are left out (RFC 7517, section 5): otherwise each
 * token that names one would be an error.
 *
 * @throws Error when the issuer is away, is another one, or publishes no key set (RFC 7517)
 */
export async function fetchKeySet({ issuer, keysUrl }: KeySource, signal: AbortSignal): Promise<JSONWebKeySet> {
  const url = keysUrl ?? (await discoverKeysUrl(issuer, signal));
  const keys = keysOf(await fetchJson(url, signal), url);
  const algorithms = await Promise.all(keys.map(algorithmsOf));
  return { keys: keys.filter((_, index) => algorithms[index]?.length) };
}

function keysOf(published: unknown, url: string): JWK[] {
  try {
    return createLocalJWKSet(published as JSONWebKeySet).jwks().keys;
  } catch (cause) {
    throw new Error(`${withoutQuery(url)} publishes no key set: there must be a list "keys" of objects.`, { cause });
  }
}

/** OpenID Connect Discovery 1.0, section 4. */
async function discoverKeysUrl(issuer: string, signal: AbortSignal): Promise<string> {
  const metadata = await fetchJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, signal);
  const { issuer: name, jwks_uri: keysUrl } = Object(metadata) as Record<string, unknown>;
  if (name !== issuer) {
    throw new Error('The metadata is of another issuer: AUTH_JWT_ISSUER must be spelled as "issuer" is there.');
  }
  if (typeof keysUrl !== 'string' || !isTrustworthyUrl(keysUrl)) {
    throw new Error(
      'The metadata leads to no key set: "jwks_uri" must be a URL with https://. AUTH_JWT_JWKS_URL takes its place.',
    );
  }
  return keysUrl;
}

/** The algorithms that jose finds a key fit for, if it can import it; one at most. */
export async function algorithmsOf(key: JWK): Promise<string[]> {
  const select = createLocalJWKSet({ keys: [key] });
  const imported = await Promise.allSettled(ALGORITHMS.map((alg) => select({ alg })));
  return ALGORITHMS.filter((_, index) => {
    const result = imported[index];
    return result?.status === 'fulfilled' && isLongEnough(result.value);
  });
}

function isLongEnough({ algorithm }: CryptoKey): boolean {
  const { modulusLength = SHORTEST_RSA_KEY } = algorithm as { modulusLength?: number };
  return modulusLength >= SHORTEST_RSA_KEY;
}
