import { Injectable, Logger, type OnApplicationShutdown, Optional } from '@nestjs/common';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  jwtVerify,
} from 'jose';
import { v5 } from 'uuid';
import { Configuration } from '../../config/configuration.js';
import { isTrustworthyUrl } from '../../config/variables.decorators.js';
import { Metrics } from '../../observability/metrics.js';
import { tracedFetch } from '../../tracing/tracing.js';
import type { Principal, RefusalReason, Verdict } from '../principal.js';
import { isPrintableLine } from '../token-format.js';

/** Milliseconds: time limit of a fetch, pause after it, and refresh interval, for which a withdrawn key stays valid. */
const RENEWAL_TIMES = { deadline: 3000, pause: 30_000, interval: 300_000 };

/** Accepted algorithms. The last two are one (RFC 9864). Each needs its own type of key: no key can be used with two. */
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA', 'Ed25519'];

/** Accepted header types: of any JWT (RFC 7519, section 5.1) and of access tokens (RFC 9068), short or as media types. */
const TYPE = /^(?:application\/)?(?:at\+)?jwt$/i;

/** Maximum bytes of a response of the issuer: it has a few keys. */
const RESPONSE_LIMIT = 1024 * 1024;

/** Allowed clock difference to the issuer, in seconds. */
const LEEWAY = 30;

/** Verifies JWTs of the issuer `AUTH_JWT_ISSUER`. */
@Injectable()
export class JwtVerifier implements OnApplicationShutdown {
  /** Undefined if no issuer is configured. */
  readonly keys;
  private readonly options;
  private readonly defaultScopes: readonly string[];
  private timer: NodeJS.Timeout | undefined;

  constructor(
    configuration: Configuration,
    metrics: Metrics,
    // With the type, swc, which compiles the tests, emits the metadata that Nest needs to inject this.
    @Optional() private readonly times: typeof RENEWAL_TIMES = RENEWAL_TIMES,
  ) {
    const { AUTH_JWT_ISSUER: issuer = '', AUTH_JWT_AUDIENCE: audience = '' } = configuration;
    this.keys = issuer === '' ? undefined : issuerKeys(configuration, metrics, times);
    this.defaultScopes = configuration.AUTH_JWT_DEFAULT_SCOPES;
    this.options = { algorithms: ALGORITHMS, issuer, audience, clockTolerance: LEEWAY, requiredClaims: ['exp', 'sub'] };
  }

  /** Fetches the keys in the background, now and periodically, if an issuer is configured. */
  start(): void {
    const { keys } = this;
    if (keys) {
      this.timer = setInterval(() => void keys.reload(), this.times.interval).unref();
      void keys.reload();
    }
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  /** Verifies a JWT. Never rejects; waits for at most one fetch of the keys. */
  async verify(token: string): Promise<Verdict> {
    if (!this.keys) {
      return { refused: 'malformed' };
    }
    try {
      const { payload, protectedHeader } = await jwtVerify(token, this.keys, this.options);
      // `typ` is the purpose of a JWT: one for a log-out, for example, is no access token.
      const { typ = 'JWT' } = protectedHeader as { typ?: unknown };
      if (typeof typ !== 'string' || !TYPE.test(typ)) {
        return { refused: 'jwt-form' };
      }
      const principal = principalOf(payload, this.options.issuer, this.defaultScopes);
      return principal ? { principal, until: ((payload.exp ?? 0) + LEEWAY) * 1000 } : { refused: 'jwt-claims' };
    } catch (error) {
      return { refused: refusalOf(error) };
    }
  }
}

function refusalOf(error: unknown): RefusalReason {
  if (error instanceof errors.JWTExpired) {
    return 'jwt-expired';
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    return error.claim === 'nbf' && error.reason === 'check_failed' ? 'jwt-not-yet' : 'jwt-claims';
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return 'jwt-signature';
  }
  // Key set errors, and errors from outside jose, are about the key.
  return error instanceof errors.JOSEError && !error.code.startsWith('ERR_JWKS_') ? 'jwt-form' : 'jwt-key';
}

/** @returns undefined if the claims have an unsupported form */
function principalOf({ sub, scope, scp }: JWTPayload, issuer: string, defaults: readonly string[]): Principal | undefined {
  // A string with spaces (RFC 9068) or an array. Some issuers, like Kubernetes, have no scopes.
  const claim = [scope, scp, defaults].find((each) => each !== undefined);
  const scopes: unknown = typeof claim === 'string' ? claim.split(' ').filter(Boolean) : claim;
  const areScopes = Array.isArray(scopes) && scopes.every((name) => typeof name === 'string');
  // At most 255 characters (OpenID Connect Core 1.0, section 2).
  if (typeof sub !== 'string' || !isPrintableLine(sub, 255) || !areScopes) {
    return undefined;
  }
  // UUIDv5 never collides with the id of an access token, which is a UUIDv7.
  const id = v5(sub, v5(issuer, v5.URL));
  return { id, familyId: id, subject: sub, scopes };
}

/** The JWT issuer's keys, which jose fetches on `reload()` and for an unknown key id. A failed fetch keeps known keys. */
function issuerKeys(configuration: Configuration, metrics: Metrics, { pause, deadline } = RENEWAL_TIMES) {
  const { AUTH_JWT_ISSUER: issuer = '', AUTH_JWT_JWKS_URL: keysUrl } = configuration;
  const logger = new Logger('IssuerKeys');
  const refreshes = metrics.counter({
    name: 'jwt_key_refreshes_total',
    help: 'Attempts to fetch the keys of the JWT issuer, by result',
    labels: { result: ['success', 'failure'] },
  });
  let known: JSONWebKeySet = { keys: [] };
  return createRemoteJWKSet(new URL(keysUrl ?? issuer), {
    cacheMaxAge: Infinity,
    cooldownDuration: pause,
    timeoutDuration: deadline,
    // Never fails, because jose pauses only after a successful fetch.
    [customFetch]: async (_url, { signal }) => {
      try {
        known = await fetchKeySet(issuer, keysUrl, signal);
        refreshes.inc({ result: 'success' });
      } catch (err) {
        refreshes.inc({ result: 'failure' });
        logger.warn({ msg: 'keys of the issuer not fetched', err });
      }
      return Response.json(known);
    },
  });
}

/** Fetches an issuer's keys. Without a URL, the issuer's metadata has it (OpenID Connect Discovery 1.0, section 4). */
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
    return JSON.parse(await readText(response));
  } catch (cause) {
    const { origin, pathname } = new URL(url);
    throw new Error(`${origin}${pathname} must respond with status 200 and JSON.`, { cause });
  }
}

async function readText({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += part.length;
    if (size > RESPONSE_LIMIT) {
      throw new Error(`The response has more than ${RESPONSE_LIMIT} bytes.`);
    }
    parts.push(part);
  }
  return new TextDecoder().decode(Buffer.concat(parts));
}
