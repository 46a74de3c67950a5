import type { Registry } from 'prom-client';
import type { LabelSet, OpenLabelValues } from './label-sets.js';
import { type MetricDefinition, register } from './registered-metric.js';
import { SeriesTable } from './series-table.js';

/**
 * Counts what happens. The time series of declared labels are there from the start, at 0: Prometheus cannot tell how much
 * a series has grown to its first value.
 */
export class EventCounter<Labels extends OpenLabelValues = OpenLabelValues> {
  private readonly series: SeriesTable<Labels, { value: number }>;

  /** @throws Error when the name is none or taken, or the labels have too many combinations */
  constructor(registry: Registry, definition: MetricDefinition<Labels>) {
    this.series = new SeriesTable(definition.name, definition.labels ?? ({} as Labels), () => ({ value: 0 }));
    register(registry, 'counter', definition, () => this.series.all().map(({ labels, state: { value } }) => ({ labels, value })));
  }

  /** It happened. @param times - how often */
  inc(labels: LabelSet<Labels>, times = 1): void {
    this.series.of(labels).value += times;
  }
}
