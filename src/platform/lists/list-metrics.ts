import type { Type } from '@nestjs/common';
import { Counter } from 'prom-client';
import { tableNameOf } from '../database/table-name.js';
import type { EventCounter, Metrics } from '../observability/metrics.js';
import type { Bulkhead } from './bulkhead.js';

/** What is done to lists. */
export class ListMetrics {
  readonly filterTimeouts: EventCounter;
  readonly filterRejections: EventCounter;
  private readonly created: Counter<'table'>;
  /** The labels of each entity that was read or written so far. */
  private readonly labels = new Map<Type, { readonly table: string }>();

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
  rowCreated(entity: Type): void {
    this.created.inc(this.labelsOf(entity));
  }

  /** There is such a list: from now on its rows are counted from 0. */
  listUsed(entity: Type): void {
    this.labelsOf(entity);
  }

  private labelsOf(entity: Type): { readonly table: string } {
    let labels = this.labels.get(entity);
    if (!labels) {
      labels = { table: tableNameOf(entity)?.name ?? entity.name };
      this.labels.set(entity, labels);
      this.created.inc(labels, 0);
    }
    return labels;
  }
}
