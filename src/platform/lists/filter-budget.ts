import { LRUCache } from 'lru-cache';
import type { Configuration } from '../config/configuration.js';
import { Problem } from '../problems/problem.js';
import type { Metrics } from '../observability/metrics.js';
import { rateLimited } from '../throttling/rate-limit.guard.js';

/** Milliseconds that a filter took, and when it ended. */
interface Use {
  readonly at: number;
  readonly time: number;
}

/** Limits the time that the slow filters of each token take in a window. The 10,000 tokens used last are remembered. */
export class FilterBudget {
  private readonly uses = new LRUCache<string, Use[]>({ max: 10_000 });
  private readonly refusals;
  /** In milliseconds. */
  private readonly budget: number;
  private readonly window: number;

  /** @param now - a monotonic clock in milliseconds */
  constructor(
    { FILTER_BUDGET, RATE_LIMIT_WINDOW }: Pick<Configuration, 'FILTER_BUDGET' | 'RATE_LIMIT_WINDOW'>,
    metrics: Metrics,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.budget = FILTER_BUDGET * 1000;
    this.window = RATE_LIMIT_WINDOW * 1000;
    this.refusals = metrics.counter({
      name: 'filter_budget_refusals_total',
      help: 'Lists rejected with 429 because the slow filters of their token have used up FILTER_BUDGET',
    });
  }

  /** @param time - that a filter took, in milliseconds */
  charge(token: string, time: number): void {
    this.uses.set(token, [...this.recentOf(token), { at: this.now(), time }]);
  }

  /** The time that the filters of a token have taken in the window, in milliseconds. */
  usedBy(token: string): number {
    return this.recentOf(token).reduce((sum, { time }) => sum + time, 0);
  }

  hasTime(token: string): boolean {
    return this.usedBy(token) < this.budget;
  }

  /** @throws Problem 429 if a token has used up its time */
  requireTime(token: string): void {
    let used = this.usedBy(token);
    if (used < this.budget) {
      return;
    }
    this.refusals.inc({});
    // The use that must leave the window before the token has time again.
    const last = this.recentOf(token).find(({ time }) => (used -= time) < this.budget);
    const seconds = Math.max(1, Math.ceil(((last?.at ?? 0) + this.window - this.now()) / 1000));
    const detail =
      `Slow filters of the token have taken their ${this.budget / 1000} s in ${this.window / 1000} s. Retry in ` +
      `${seconds} s, or repeat a filter that was quick in the last minute.`;
    throw new Problem(rateLimited, detail, { headers: { 'Retry-After': String(seconds) } });
  }

  private recentOf(token: string) {
    return (this.uses.get(token) ?? []).filter(({ at }) => at + this.window > this.now());
  }
}
