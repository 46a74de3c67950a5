import { LRUCache } from 'lru-cache';
import { audit } from './audit-log.js';

/** The token bucket of a network. */
interface Bucket {
  /** Failures left, as of `at`. */
  left: number;
  at: number;
  failed: number;
  underWay: number;
  /** Settles when an attempt ends. */
  ended?: PromiseWithResolvers<void> | undefined;
  reportedAt: number;
}

/**
 * Bounds the failed attempts of each network. Attempts that succeed cost nothing: no more run at once than may fail, and the others
 * wait for their outcomes, so that many good ones at once are not refused.
 */
export class FailureBudget {
  private readonly buckets = new LRUCache<string, Bucket>({
    max: 10_000,
    memoMethod: () => ({ left: Infinity, at: 0, failed: 0, underWay: 0, reportedAt: -Infinity }),
  });

  /**
   * @param burst - failures at once
   * @param rate - failures more each second
   */
  constructor(
    private readonly burst: number,
    private readonly rate: number,
  ) {}

  /** Whether an attempt is refused at once. */
  refuses(networks: readonly string[]): boolean {
    return networks.some((network) => this.isSpent(network, this.buckets.memo(network)));
  }

  /**
   * Makes an attempt, unless a network of the client has no failure left.
   *
   * @param networks - the smallest first
   * @returns undefined if it is refused
   * @throws what the attempt throws, or one that it waits for
   */
  async attempt<T>(
    [network, ...larger]: readonly string[],
    make: () => Promise<T>,
    hasFailed: (outcome: T) => boolean,
  ): Promise<T | undefined> {
    if (network === undefined) {
      return make();
    }
    const bucket = this.buckets.memo(network);
    // A flood must not wait for the attempts that begin later, with what the rate gives back.
    const most = bucket.failed + bucket.underWay;
    while (this.leftFor(network, bucket) < 1) {
      if (this.isSpent(network, bucket) || bucket.failed >= most) {
        return undefined;
      }
      await (bucket.ended ??= Promise.withResolvers()).promise;
    }
    bucket.underWay += 1;
    try {
      const outcome = await this.attempt(larger, make, hasFailed);
      const failures = outcome !== undefined && hasFailed(outcome) ? 1 : 0;
      bucket.left -= failures;
      bucket.failed += failures;
      return outcome;
    } catch (error) {
      bucket.ended?.reject(error);
      throw error;
    } finally {
      bucket.underWay -= 1;
      bucket.ended?.resolve();
      bucket.ended = undefined;
    }
  }

  /** Failures that no attempt under way may need. */
  private leftFor(network: string, bucket: Bucket): number {
    // A /48 may fail ten times as often as each /64 in it.
    const factor = network.endsWith('/48') ? 10 : 1;
    const now = performance.now();
    bucket.left = Math.min(this.burst * factor, bucket.left + ((now - bucket.at) / 1000) * this.rate * factor);
    bucket.at = now;
    return bucket.left - bucket.underWay;
  }

  /** Whether no failure is left. Writes that to the audit log, once a minute at most for each network. */
  private isSpent(network: string, bucket: Bucket): boolean {
    const isSpent = bucket.underWay === 0 && this.leftFor(network, bucket) < 1;
    if (isSpent && bucket.at - bucket.reportedAt >= 60_000) {
      bucket.reportedAt = bucket.at;
      const reason = `more failed authentications than ${this.burst} at once and ${this.rate} a second; if this is a load balancer, set TRUSTED_PROXIES`;
      audit('authentication.refused-by-budget', { actor: network, reason });
    }
    return isSpent;
  }
}
