import { LRUCache } from 'lru-cache';
import { onceAMinute } from '../time/once-a-minute.js';
import { audit } from './audit-log.js';
import { networksOf } from './client-address.js';

/** Limits the failed authentications of each network with a token bucket. Successful ones are free. */
export class FailureBudget {
  /** When the bucket of a network is full again, by `performance.now()`. */
  private readonly fullAt = new LRUCache<string, number>({ max: 10_000 });
  private readonly mayReport = onceAMinute(10_000);

  /** @param rate - failures that are added each second, up to `burst` */
  constructor(
    private readonly burst: number,
    private readonly rate: number,
  ) {}

  /** Whether any network of the address has no failures left. Audited at most once a minute per network. */
  isSpent(address: string): boolean {
    const spent = networksOf(address).filter((network) => this.leftOf(network) < 1);
    for (const actor of spent.filter(this.mayReport)) {
      const reason = `more than ${this.burst} failed authentications at once, or more than ${this.rate} per second; if this is a load balancer, set TRUSTED_PROXIES`;
      audit('authentication.refused-by-budget', { actor, reason });
    }
    return spent.length > 0;
  }

  /** Failures that a network has left; below 1 when none is left. Concurrent look-ups can make it negative. */
  leftOf(network: string): number {
    const missing = Math.max(0, (this.fullAt.get(network) ?? 0) - performance.now()) / 1000;
    return (this.burst - missing * this.rate) * sizeOf(network);
  }

  /** Counts a failure. */
  spend(address: string): void {
    for (const network of networksOf(address)) {
      const start = Math.max(performance.now(), this.fullAt.get(network) ?? 0);
      this.fullAt.set(network, start + 1000 / (this.rate * sizeOf(network)));
    }
  }
}

/** A /48 gets ten times the budget of a /64. */
const sizeOf = (network: string) => (network.endsWith('/48') ? 10 : 1);
