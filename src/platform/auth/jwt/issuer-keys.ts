import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable, Logger, type OnApplicationShutdown, Optional } from '@nestjs/common';
import { type CompactJWSHeaderParameters, createLocalJWKSet, type CryptoKey, errors } from 'jose';
import { Configuration } from '../../config/configuration.js';
import type { EventCounter } from '../../observability/event-counter.js';
import { Metrics } from '../../observability/metrics.js';
import { within } from '../../time/within.js';
import { asPartOfThis } from '../../tracing/traced.js';
import { fetchKeySet, type KeySource } from './key-set.js';

/** When the keys of the issuer are renewed, in milliseconds. */
export interface RenewalTimes {
  /** In which an attempt has fetched everything, or has failed. */
  readonly deadline: number;
  /** From the beginning of an attempt to that of the next one at least, whatever came of it. */
  readonly pause: number;
  /**
   * From the beginning of an attempt that succeeded to that of the next one, no shorter than the pause: so long a withdrawn key
   * is still accepted.
   */
  readonly interval: number;
}

/** The usual ones. */
export const RENEWAL_TIMES: RenewalTimes = { deadline: 3000, pause: 30_000, interval: 300_000 };

/**
 * The public keys of the issuer of JWTs, renewed now and then, and when a token names one that is not known. While the issuer
 * is away, the known ones stay. jose's own `createRemoteJWKSet` would do neither; docs/adr/0019 tells more.
 */
@Injectable()
export class IssuerKeys implements OnApplicationShutdown {
  private readonly logger = new Logger('IssuerKeys');
  private readonly source: KeySource | undefined;
  private readonly refreshes: EventCounter<{ readonly result: readonly ['success', 'failure'] }> | undefined;
  private known = createLocalJWKSet({ keys: [] });
  /** Undefined before the first attempt has ended. */
  private isFailing: boolean | undefined;
  private renewing: Promise<void> | undefined;
  /** When the last attempt began, on the monotonic clock. */
  private begun = -Infinity;
  private timer: NodeJS.Timeout | undefined;
  private fetching: AbortController | undefined;
  private isStopped = false;
  /** Runs what goes on beyond the request that gave rise to it. */
  private readonly outside = AsyncLocalStorage.snapshot();

  constructor(
    { AUTH_JWT_ISSUER: issuer, AUTH_JWT_JWKS_URL: keysUrl }: Configuration,
    metrics: Metrics,
    @Optional() private readonly times: RenewalTimes = RENEWAL_TIMES,
  ) {
    if (issuer !== undefined) {
      this.source = { issuer, keysUrl };
      this.refreshes = metrics.counter({
        name: 'items_jwt_key_refreshes_total',
        help: "Attempts to fetch the keys of the JWTs' issuer, by their result",
        labels: { result: ['success', 'failure'] },
      });
    }
  }

  /** Fetches the keys in the background, from now on. Does nothing without an issuer. */
  start(): void {
    void this.renew();
  }

  /**
   * The key that a JWT names. An unknown one is looked for at the issuer, unless that was asked a moment ago: it is known, or
   * not, within the deadline.
   *
   * @throws errors.JWKSNoMatchingKey when the issuer publishes none
   * @throws errors.JWKSMultipleMatchingKeys, over which to iterate, when the JWT does not say which of several
   */
  async find(header: CompactJWSHeaderParameters): Promise<CryptoKey> {
    try {
      return await this.known(header);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) {
        throw error;
      }
      await this.renew();
      return this.known(header);
    }
  }

  /** Ends all that goes on in the background. The known keys stay. */
  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
    this.fetching?.abort();
  }

  onApplicationShutdown(): void {
    this.stop();
  }

  /** Joins the attempt that is under way, or makes one, unless the last one began a moment ago. Never fails. */
  private async renew(): Promise<void> {
    const { source } = this;
    if (!this.renewing && source && !this.isStopped && this.timeLeft(this.times.pause) <= 0) {
      const fetchKeys = asPartOfThis(fetchKeySet);
      this.renewing = this.outside(() => this.attempt(source, fetchKeys)).finally(() => {
        this.renewing = undefined;
      });
    }
    await this.renewing;
  }

  private async attempt(source: KeySource, fetchKeys: typeof fetchKeySet): Promise<void> {
    this.begun = performance.now();
    clearTimeout(this.timer);
    this.fetching = new AbortController();
    try {
      const keySet = await within(this.times.deadline, fetchKeys(source, this.fetching.signal));
      this.known = createLocalJWKSet(keySet);
      this.succeeded(keySet.keys.length);
    } catch (error) {
      this.failed(error);
    } finally {
      this.fetching.abort();
    }
    // A failure is made good as soon as may be, so that a withdrawn key does not live on for another interval.
    this.renewIn(this.isFailing ? this.times.pause : this.times.interval);
  }

  private succeeded(keys: number): void {
    this.refreshes?.inc({ result: 'success' });
    if (this.isFailing !== false) {
      this.logger.log({ msg: 'keys of the issuer fetched', usable: keys });
    }
    this.isFailing = false;
  }

  private failed(reason: unknown): void {
    if (!this.isStopped) {
      this.refreshes?.inc({ result: 'failure' });
      this.logger.warn({ msg: 'keys of the issuer not fetched', err: reason, retryInMs: this.times.pause });
      this.isFailing = true;
    }
  }

  /** @param milliseconds - from the beginning of the last attempt */
  private renewIn(milliseconds: number): void {
    if (this.isStopped) {
      return;
    }
    const renew = () => {
      // Timers can be early by a moment.
      if (this.timeLeft(milliseconds) > 0) {
        this.renewIn(milliseconds);
      } else {
        void this.renew();
      }
    };
    this.timer = setTimeout(renew, Math.max(1, this.timeLeft(milliseconds))).unref();
  }

  private timeLeft(milliseconds: number): number {
    return this.begun + milliseconds - performance.now();
  }
}
