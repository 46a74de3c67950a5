import { fetchKeySet } from '../auth/jwt/issuer-keys.js';
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
      const { keys } = await fetchKeySet(issuer, keysUrl, AbortSignal.timeout(3000));
      return { fine: keys.length > 0, found: `${keys.length} keys of ${issuer}` };
    },
  };
}
