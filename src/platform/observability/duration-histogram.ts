import type { Registry } from 'prom-client';
import type { LabelSet, OpenLabelValues } from './label-sets.js';
import { type MetricDefinition, register, type Sample } from './registered-metric.js';
import { type Series, SeriesTable } from './series-table.js';

/** How long things took, so far. */
interface Durations {
  /** How many were within each bound and beyond the one before, and at last those beyond all. */
  readonly counts: Float64Array;
  sum: number;
}

/** Counts how often something took how long. */
export class DurationHistogram<Labels extends OpenLabelValues = OpenLabelValues> {
  private readonly series: SeriesTable<Labels, Durations>;

  /**
   * @param bounds - upper bounds of the buckets in seconds, in ascending order; each makes another time series
   * @throws Error when the name is none or taken, or the labels have too many combinations
   */
  constructor(
    registry: Registry,
    private readonly definition: MetricDefinition<Labels>,
    private readonly bounds: readonly number[],
  ) {
    const create = () => ({ counts: new Float64Array(bounds.length + 1), sum: 0 });
    this.series = new SeriesTable(definition.name, definition.labels ?? ({} as Labels), create);
    register(registry, 'histogram', definition, () => this.series.all().flatMap((series) => this.samplesOf(series)));
  }

  /** It took so long. */
  observe(labels: LabelSet<Labels>, seconds: number): void {
    const { bounds } = this;
    const durations = this.series.of(labels);
    let bucket = 0;
    while (bucket < bounds.length && seconds > (bounds[bucket] ?? Infinity)) {
      bucket += 1;
    }
    durations.counts[bucket] = (durations.counts[bucket] ?? 0) + 1;
    durations.sum += seconds;
  }

  private samplesOf({ labels, state: { counts, sum } }: Series<Durations>): Sample[] {
    const { name } = this.definition;
    let count = 0;
    const buckets = Array.from(counts, (inBucket, place) => {
      count += inBucket;
      return { metricName: `${name}_bucket`, labels: { ...labels, le: String(this.bounds[place] ?? '+Inf') }, value: count };
    });
    return [...buckets, { metricName: `${name}_sum`, labels, value: sum }, { metricName: `${name}_count`, labels, value: count }];
  }
}
