import { Counter } from 'prom-client';
import type { EventCounter, Metrics } from '../observability/metrics.js';
import type { Bulkhead } from './bulkhead.js';

/** What is done to lists. */
export class ListMetrics {
  readonly filterTimeouts: EventCounter;
  readonly filterRejections: EventCounter;
  private readonly created: Counter<'table'>;

  /** @param filters - that lists with a filter go through */
  constructor(metrics: Metrics, filters: Bulkhead) {
    this.created = new Counter({
      name: 'items_rows_created_total',
      help: 'Rows added to a list and committed, by its table',
      labelNames: ['table'],
      registers: [metrics.registry],
    });
    this.filterTimeouts = metrics.counter({
      name: 'items_filter_timeouts_total',
      help: 'Lists answered 400 because their filter took longer than FILTER_TIMEOUT',
    });
    this.filterRejections = metrics.counter({
      name: 'items_filter_rejections_total',
      help: 'Lists answered 503 because those with a filter before them took too long',
    });
    metrics.gauge({ name: 'items_filters_running', help: 'Lists with a filter that are read now' }, () => filters.running);
    metrics.gauge({ name: 'items_filters_waiting', help: 'Lists with a filter that wait for their turn' }, () => filters.queued);
  }

  /** A row was added, and will stay. */
  rowCreated(table: string): void {
    this.created.inc({ table });
  }
}
