import type { Configuration } from '../config/configuration.js';
import type { Check } from './check.js';

/** The keys of the JWTs' issuer. */
export function issuerCheck({ AUTH_JWT_ISSUER: issuer, AUTH_JWT_JWKS_URL: keysUrl }: Configuration): Check {
  return {
    name: 'auth.issuer-keys',
    advice: 'Check AUTH_JWT_ISSUER, AUTH_JWT_JWKS_URL and the issuer: without its keys, JWTs are refused.',
    run: async () => {
      if (issuer === undefined) {
        return { fine: true, found: 'AUTH_JWT_ISSUER is unset' };
      }
      // OpenID Connect Discovery 1.0, section 4.
      const metadataUrl = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
      const metadata = keysUrl === undefined ? await fetchJson(metadataUrl) : { issuer, jwks_uri: keysUrl };
      const { keys } = await fetchJson(String(metadata['jwks_uri']));
      const count = Array.isArray(keys) ? keys.length : 0;
      return { fine: count > 0 && metadata['issuer'] === issuer, found: `${count} keys of ${String(metadata['issuer'])}` };
    },
  };
}

async function fetchJson(url: string): Promise<Record<string, unknown>> {
  const headers = { Accept: 'application/json, application/jwk-set+json' };
  const response = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(3000) });
  if (response.status !== 200) {
    throw new Error(`The issuer responds with status ${response.status}.`);
  }
  return (await response.json()) as Record<string, unknown>;
}
