import { LRUCache } from 'lru-cache';

/** The token bucket of a network. */
interface Bucket {
  /** Failures left, as of `at`. */
  left: number;
  at: number;
  failed: number;
  underWay: number;
  /** Settles when an attempt ends. */
  ended?: PromiseWithResolvers<void> | undefined;
  refused: number;
  reportedAt: number;
}

/**
 * Bounds the failed attempts of each network. Attempts that succeed cost nothing: no more run at once than may fail, and the others
 * wait for their outcomes, so that many good ones at once are not refused.
 */
export class FailureBudget {
  private readonly buckets = new LRUCache<string, Bucket>({
    max: 10_000,
    memoMethod: () => ({ left: Infinity, at: 0, failed: 0, underWay: 0, refused: 0, reportedAt: -Infinity }),
  });

  /** @param options - failures at once, failures more each second, and a callback, once a minute at most for each network */
  constructor(
    private readonly options: { burst: number; rate: number; onExhausted: (network: string, refused: number) => void },
  ) {}

  /** Whether an attempt is refused at once. */
  refuses(networks: readonly string[]): boolean {
    return networks.some((network) => {
      const bucket = this.buckets.memo(network);
      return bucket.underWay === 0 && this.isFull(network, bucket) && this.report(network, bucket);
    });
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
    while (this.isFull(network, bucket)) {
      if (bucket.underWay === 0 || bucket.failed >= most) {
        this.report(network, bucket);
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

  private isFull(network: string, bucket: Bucket): boolean {
    // A /48 may fail ten times as often as each /64 in it.
    const factor = network.endsWith('/48') ? 10 : 1;
    const now = performance.now();
    const given = ((now - bucket.at) / 1000) * this.options.rate * factor;
    bucket.left = Math.min(this.options.burst * factor, bucket.left + given);
    bucket.at = now;
    return bucket.left - bucket.underWay < 1;
  }

  private report(network: string, bucket: Bucket): true {
    bucket.refused += 1;
    if (performance.now() - bucket.reportedAt >= 60_000) {
      this.options.onExhausted(network, bucket.refused);
      bucket.reportedAt = performance.now();
      bucket.refused = 0;
    }
    return true;
  }
}
