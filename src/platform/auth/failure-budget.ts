import { LRUCache } from 'lru-cache';
import { databaseBusy } from '../database/database-problem.js';
import { onceAMinute } from '../time/once-a-minute.js';
import { audit } from './audit-log.js';
import { isSite, networksOf } from '../requests/client-address.js';
import type { Verdict } from './principal.js';

interface Reservations {
  readonly network: string;
  /** Running look-ups, each of which has reserved a failure. */
  count: number;
  /** Functions that say to waiting look-ups, oldest first, whether they have a reservation. */
  readonly waiting: Set<(isReserved: boolean) => void>;
}

/** Limits the failed authentications of each network with a token bucket. Successful ones are free. */
export class FailureBudget {
  /** When the bucket of a network is full again, by `performance.now()`. */
  private readonly fullAt = new LRUCache<string, number>({ max: 10_000 });
  /** Reservations by network; removed when nothing runs or waits. */
  private readonly reservations = new Map<string, Reservations>();
  private readonly mayReport = onceAMinute(10_000);

  /**
   * @param rate - failures that are added each second, up to `burst`
   * @param wait - longest wait of a look-up, in milliseconds
   */
  constructor(
    private readonly burst: number,
    private readonly rate: number,
    private readonly wait: number,
  ) {}

  /**
   * Runs a look-up with a failure reserved in each network of its address. It waits while running look-ups, which may still
   * succeed, have reserved all failures that are left.
   *
   * @returns a refusal without a look-up if no failures are left
   * @throws Problem 503 after too long a wait, or the error of the look-up, which does not count as a failure
   */
  run(address: string, lookUp: () => Promise<Verdict>): Promise<Verdict> {
    // The smallest network first, so that those that wait for it reserve nothing in the larger one.
    const until = performance.now() + this.wait;
    return networksOf(address).reduceRight((task, network) => () => this.runIn(network, task, until), lookUp)();
  }

  /** @param until - when the wait ends, by `performance.now()` */
  private async runIn(network: string, lookUp: () => Promise<Verdict>, until: number): Promise<Verdict> {
    const reservations = this.reservations.getOrInsertComputed(network, () => ({ network, count: 0, waiting: new Set() }));
    if (!(await this.reserve(reservations, until))) {
      this.report(network);
      return { refused: 'budget' };
    }
    let hasFailed = false;
    try {
      const verdict = await lookUp();
      // While the issuer's keys are not available, valid JWTs are refused, too: they must not lock out other credentials.
      hasFailed = 'refused' in verdict && !['budget', 'jwt-key'].includes(verdict.refused);
      return verdict;
    } finally {
      if (hasFailed) {
        const start = Math.max(performance.now(), this.fullAt.get(network) ?? 0);
        this.fullAt.set(network, start + 1000 / (this.rate * sizeOf(network)));
      }
      reservations.count -= 1;
      this.advance(reservations);
    }
  }

  /** @returns false if no failures are left */
  private async reserve(reservations: Reservations, until: number): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const { waiting } = reservations;
    const timer = setTimeout(() => {
      waiting.delete(resolve);
      reject(databaseBusy());
    }, until - performance.now());
    waiting.add(resolve);
    this.advance(reservations);
    return promise.finally(() => clearTimeout(timer));
  }

  /** Lets waiting look-ups run while failures are left. Refuses them once none is left, and none is reserved either. */
  private advance(reservations: Reservations): void {
    const { network, waiting } = reservations;
    for (const resolve of waiting) {
      const isLeft = this.leftOf(network) - reservations.count >= 1;
      if (!isLeft && reservations.count > 0) {
        return;
      }
      reservations.count += Number(isLeft);
      waiting.delete(resolve);
      resolve(isLeft);
    }
    if (reservations.count === 0) {
      this.reservations.delete(network);
    }
  }

  private leftOf(network: string): number {
    const missing = Math.max(0, (this.fullAt.get(network) ?? 0) - performance.now()) / 1000;
    return (this.burst - missing * this.rate) * sizeOf(network);
  }

  /** Audits a refusal, at most once a minute per network. */
  private report(actor: string): void {
    if (this.mayReport(actor)) {
      const reason =
        `more than ${this.burst} failed authentications at once, or more than ${this.rate} per second; if this is a ` +
        'load balancer, set TRUSTED_PROXIES';
      audit('authentication.refused-by-budget', { actor, reason });
    }
  }
}

/** A /48 gets ten times the budget of a /64 or an IPv4 address. */
const sizeOf = (network: string) => (isSite(network) ? 10 : 1);
