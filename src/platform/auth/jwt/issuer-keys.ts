import { Logger } from '@nestjs/common';
import { createLocalJWKSet, createRemoteJWKSet, customFetch, type JSONWebKeySet } from 'jose';
import type { Configuration } from '../../config/configuration.js';
import { isTrustworthyUrl } from '../../config/variables.decorators.js';
import type { Metrics } from '../../observability/metrics.js';
import { tracedFetch } from '../../tracing/tracing.js';

/** Milliseconds: fetch time limit, pause after a fetch, and refresh interval, which is also how long a withdrawn key stays valid. */
export const RENEWAL_TIMES = { deadline: 3000, pause: 30_000, interval: 300_000 };

/** The JWT issuer's keys, which jose fetches on `reload()` and for an unknown key id. If a fetch fails, the known keys are kept. */
export function issuerKeys(configuration: Configuration, metrics: Metrics, { pause, deadline } = RENEWAL_TIMES) {
  const { AUTH_JWT_ISSUER: issuer = '', AUTH_JWT_JWKS_URL: keysUrl } = configuration;
  const logger = new Logger('IssuerKeys');
  const refreshes = metrics.counter({
    name: 'items_jwt_key_refreshes_total',
    help: 'Attempts to fetch the keys of the JWT issuer, by result',
    labels: { result: ['success', 'failure'] },
  });
  let known: JSONWebKeySet = { keys: [] };
  const fetchOrKeep = async (signal: AbortSignal) => {
    try {
      known = await fetchKeySet(issuer, keysUrl, signal);
      refreshes.inc({ result: 'success' });
    } catch (err) {
      refreshes.inc({ result: 'failure' });
      logger.warn({ msg: 'keys of the issuer not fetched', err });
    }
    return Response.json(known);
  };
  return createRemoteJWKSet(new URL(keysUrl ?? issuer), {
    cacheMaxAge: Infinity,
    cooldownDuration: pause,
    timeoutDuration: deadline,
    // jose pauses only after a successful fetch: this one always succeeds.
    [customFetch]: (_url, { signal }) => fetchOrKeep(signal),
  });
}

/** Fetches an issuer's keys. Without a URL, it is read from the issuer's metadata (OpenID Connect Discovery 1.0, section 4). */
export async function fetchKeySet(issuer: string, keysUrl: string | undefined, signal: AbortSignal): Promise<JSONWebKeySet> {
  if (keysUrl !== undefined) {
    return createLocalJWKSet((await fetchJson(keysUrl, signal)) as JSONWebKeySet).jwks();
  }
  const metadata = await fetchJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, signal);
  const { issuer: name, jwks_uri: url } = Object(metadata) as Record<string, unknown>;
  if (name !== issuer || typeof url !== 'string' || !isTrustworthyUrl(url)) {
    throw new Error('The metadata must have "issuer" like AUTH_JWT_ISSUER, and "jwks_uri" with https://.');
  }
  return fetchKeySet(issuer, url, signal);
}

async function fetchJson(url: string, signal: AbortSignal): Promise<unknown> {
  try {
    // The Kubernetes API server requires these media types (RFC 7517, section 8.5.2).
    const headers = { Accept: 'application/json, application/jwk-set+json' };
    const response = await tracedFetch(url, { redirect: 'manual', headers, signal });
    if (response.status !== 200) {
      throw new Error(`The status is ${response.status}.`);
    }
    return await response.json();
  } catch (cause) {
    const { origin, pathname } = new URL(url);
    throw new Error(`${origin}${pathname} must respond with status 200 and JSON.`, { cause });
  }
}
