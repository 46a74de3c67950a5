import { Logger } from '@nestjs/common';
import { createLocalJWKSet, createRemoteJWKSet, customFetch, type JSONWebKeySet } from 'jose';
import type { Configuration } from '../../config/configuration.js';
import { isTrustworthyUrl } from '../../config/variables.decorators.js';
import type { Metrics } from '../../observability/metrics.js';
import { tracedFetch } from '../../tracing/traced.js';

/** In milliseconds: time limit of a fetch, pause after one, and interval of the timer, for which a withdrawn key stays valid. */
export const RENEWAL_TIMES = { deadline: 3000, pause: 30_000, interval: 300_000 };

/** Keys of the issuer of JWTs, fetched on a timer and for a JWT of an unknown key. A failure leaves the known ones. */
export class IssuerKeys {
  /** Finds the key that a JWT names. Rejects with an error of jose. */
  readonly find;
  private readonly logger = new Logger('IssuerKeys');
  private readonly refreshes;
  private known: JSONWebKeySet = { keys: [] };
  private isFailing = true;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly configuration: Configuration,
    metrics: Metrics,
    private readonly times = RENEWAL_TIMES,
  ) {
    this.refreshes = metrics.counter({
      name: 'items_jwt_key_refreshes_total',
      help: "Attempts to fetch the keys of the JWTs' issuer, by their result",
      labels: { result: ['success', 'failure'] },
    });
    const { AUTH_JWT_ISSUER: issuer = '', AUTH_JWT_JWKS_URL: keysUrl = issuer } = configuration;
    this.find = createRemoteJWKSet(new URL(keysUrl), {
      cacheMaxAge: Infinity,
      cooldownDuration: times.pause,
      timeoutDuration: times.deadline,
      // jose pauses after a success alone, and drops its keys after a failure.
      [customFetch]: async (_url, { signal }) => Response.json(await this.fetchOrKeep(signal)),
    });
  }

  /** Fetches the keys in the background, now and on a timer. */
  start(): void {
    this.timer = setInterval(() => void this.find.reload(), this.times.interval).unref();
    void this.find.reload();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private async fetchOrKeep(signal: AbortSignal): Promise<JSONWebKeySet> {
    const { AUTH_JWT_ISSUER: issuer = '', AUTH_JWT_JWKS_URL: keysUrl } = this.configuration;
    try {
      this.known = await fetchKeySet(issuer, keysUrl, signal);
      if (this.isFailing) {
        this.logger.log({ msg: 'keys of the issuer fetched', keys: this.known.keys.length });
      }
      this.isFailing = false;
    } catch (err) {
      this.logger.warn({ msg: 'keys of the issuer not fetched', err });
      this.isFailing = true;
    }
    this.refreshes.inc({ result: this.isFailing ? 'failure' : 'success' });
    return this.known;
  }
}

/** Fetches the keys of an issuer. Without a URL, its metadata says where they are (OpenID Connect Discovery 1.0, section 4). */
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
    // The API server of Kubernetes insists on its media types (RFC 7517, section 8.5.2).
    const headers = { Accept: 'application/json, application/jwk-set+json' };
    const { status, body } = await tracedFetch(url, { redirect: 'manual', headers, signal });
    if (status !== 200) {
      throw new Error(`The status is ${status}.`);
    }
    let text = '';
    for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += part;
      if (text.length > 1024 * 1024) {
        throw new Error('The response is larger.');
      }
    }
    return JSON.parse(text);
  } catch (cause) {
    const { origin, pathname } = new URL(url);
    throw new Error(`${origin}${pathname} must respond with status 200 and at most 1 MiB of JSON.`, { cause });
  }
}
