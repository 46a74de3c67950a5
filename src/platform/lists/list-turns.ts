import type { Request } from 'express';
import { clientAddress, networksOf } from '../requests/client-address.js';
import type { Configuration } from '../config/configuration.js';
import { Bulkhead } from '../database/bulkhead.js';
import { readOptions } from '../database/data-source-options.js';
import { databaseBusy } from '../database/database-problem.js';
import { MOST_FILTERS, sharesOf } from '../database/reader.js';
import type { Problem } from '../problems/problem.js';
import type { Metrics } from '../observability/metrics.js';
import { FilterBudget } from './filter-budget.js';

/** Maximum concurrent statements of one token that are slow, and of those that should be quick. */
const MOST_SLOW_OF_TOKEN = 2;
const MOST_QUICK_OF_TOKEN = 4;

/** Lets tokens take turns on the connections of filters and of what is slow, and limits the time of each. */
export class ListTurns {
  readonly budget: FilterBudget;
  private readonly slow: Bulkhead;
  /** Limits the lists without a filter in {@link slow}, so that a locked table leaves room for others. */
  private readonly slowPages: Bulkhead;
  private readonly quick: Bulkhead;
  private readonly rejections;

  constructor(configuration: Configuration, metrics: Metrics) {
    const { DATABASE_POOL_SIZE, DATABASE_READ_URL, DATABASE_CONNECTION_TIMEOUT } = configuration;
    const undivided = { slow: Math.ceil(DATABASE_POOL_SIZE / 2), quick: 1 };
    const shares = readOptions(configuration).shares ?? (DATABASE_READ_URL ? sharesOf(DATABASE_POOL_SIZE) : undivided);
    const { slow, quick } = shares;
    const wait = DATABASE_CONNECTION_TIMEOUT * 1000;
    // As if each pending filter took a second, because those of a new token have not taken any time yet.
    const pendingOf = (token: string) => this.slow.pendingOf(token) + this.quick.pendingOf(token);
    const rank = (token: string) => this.budget.usedBy(token) + pendingOf(token) * 1000;
    this.budget = new FilterBudget(configuration, metrics);
    this.slow = new Bulkhead({ total: slow, perKey: MOST_SLOW_OF_TOKEN, wait, rank });
    this.slowPages = new Bulkhead({ total: Math.ceil(slow / 2), perKey: MOST_SLOW_OF_TOKEN, wait });
    this.quick = new Bulkhead({ total: quick * MOST_FILTERS, perKey: MOST_QUICK_OF_TOKEN, wait, rank });
    this.rejections = metrics.counter({
      name: 'filter_rejections_total',
      help: 'Lists rejected with 503 because earlier slow or filtered lists took too long',
    });
    metrics.gauge(
      { name: 'filters_running', help: 'Slow lists that run on a connection of their own' },
      () => this.slow.running,
    );
    metrics.gauge(
      { name: 'filters_waiting', help: 'Lists that wait for a turn, except unfiltered ones behind a locked table' },
      () => this.slow.queued + this.quick.queued,
    );
  }

  /** Runs what has its turn in one of the queues. @throws Problem 503 if it waited too long for that */
  run<T>(queue: 'quick' | 'slow' | 'slowPages', token: string, task: () => Promise<T>): Promise<T> {
    return this[queue].run(token, task, this.busyProblem);
  }

  /** Whether a new filter of a token may be tried where it should be quick. */
  mayTry(token: string): boolean {
    return this.budget.hasTime(token) && this.slow.pendingOf(token) < MOST_SLOW_OF_TOKEN;
  }

  private readonly busyProblem = (): Problem => {
    this.rejections.inc({});
    return databaseBusy();
  };
}

/** The token that a list counts for; on public routes, the address, or its network of IPv6. */
export function budgetKeyOf(request: Request | undefined): string {
  return request?.user?.id ?? (request && networksOf(clientAddress(request))[0]) ?? '';
}
