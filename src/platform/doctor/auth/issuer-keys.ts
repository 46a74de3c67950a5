import type { JWK } from 'jose';
import { RENEWAL_TIMES } from '../../auth/jwt/issuer-keys.js';
import { ALGORITHMS, algorithmsOf, fetchKeySet } from '../../auth/jwt/key-set.js';
import type { Configuration } from '../../config/configuration.js';
import { causesOf } from '../causes-of.js';
import { type Check, failed, ok, skipped, warning } from '../check.js';

/** In which the service fetches them, or counts it as a failure. */
const { deadline: DEADLINE } = RENEWAL_TIMES;

/** Whether the keys of the JWTs' issuer can be fetched and used. */
export function issuerKeysCheck({ AUTH_JWT_ISSUER: issuer, AUTH_JWT_JWKS_URL: keysUrl }: Configuration): Check {
  return {
    name: 'auth.issuer-keys',
    run: async () => {
      if (issuer === undefined) {
        return skipped('AUTH_JWT_ISSUER is unset');
      }
      const fetched = await fetchKeySet({ issuer, keysUrl }, AbortSignal.timeout(DEADLINE)).catch(
        (error: unknown) => error as Error,
      );
      if (Error.isError(fetched)) {
        return failed(
          causesOf(fetched).join(': '),
          `Until its keys are there (within ${DEADLINE / 1000} s), JWTs are refused. Look at the network, its certificate ` +
            '(NODE_EXTRA_CA_CERTS), AUTH_JWT_ISSUER and AUTH_JWT_JWKS_URL.',
        );
      }
      const { keys } = fetched;
      if (keys.length === 0) {
        return failed(
          'the issuer publishes no key that can be used',
          `It must sign with ${ALGORITHMS.join(', ')}, RSA with 2048 bits.`,
        );
      }
      const found = `${keys.length} usable: ${await listed(keys)}`;
      return [issuer, keysUrl].some((url) => url?.startsWith('http:'))
        ? warning(`${found}, fetched without TLS`, 'That is for development: elsewhere use the https:// of the issuer.')
        : ok(found);
    },
  };
}

/** How many there are for each algorithm. */
async function listed(keys: readonly JWK[]): Promise<string> {
  const algorithms = (await Promise.all(keys.map(algorithmsOf))).flat();
  const counts = ALGORITHMS.map((name) => [name, algorithms.filter((algorithm) => algorithm === name).length] as const);
  return counts.flatMap(([name, count]) => (count > 0 ? `${count} × ${name}` : [])).join(', ');
}
