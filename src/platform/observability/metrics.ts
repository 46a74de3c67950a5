import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

type LabelValues = Readonly<Record<string, readonly string[]>>;
type LabelSet<Labels extends LabelValues> = { readonly [Label in keyof Labels]: Labels[Label][number] };
type None = Readonly<Record<string, never>>;

/** A name as in https://prometheus.io/docs/practices/naming/, and all values of each label, so that no client can add a time series. */
interface MetricDefinition<Labels extends LabelValues = LabelValues> {
  readonly name: string;
  readonly help: string;
  readonly labels?: Labels;
}

/** prom-client's `Counter`, for the listed label values. */
export type EventCounter<Labels extends LabelValues = LabelValues> = { inc(labels: LabelSet<Labels>, times?: number): void };

/** prom-client's `Histogram`, for the listed label values. */
export type DurationHistogram<Labels extends LabelValues = LabelValues> = {
  observe(labels: LabelSet<Labels>, seconds: number): void;
};

/** The metrics of one application, kept by prom-client. Modules add theirs in their constructors; all series exist from the start. */
@Injectable()
export class Metrics {
  readonly registry = new Registry();

  counter<const Labels extends LabelValues = None>(definition: MetricDefinition<Labels>): EventCounter<Labels> {
    const counter = new Counter(this.configure(definition));
    for (const labels of labelSetsOf(definition)) counter.inc(labels, 0);
    return counter;
  }

  /** @param buckets - upper bounds in seconds; each is another time series */
  histogram<const Labels extends LabelValues = None>(
    definition: MetricDefinition<Labels>,
    buckets: readonly number[],
  ): DurationHistogram<Labels> {
    const histogram = new Histogram({ ...this.configure(definition), buckets: [...buckets] });
    for (const labels of labelSetsOf(definition)) histogram.zero(labels);
    return histogram;
  }

  /** @param read - gives the number of each series at each scrape, which waits for it and fails with it */
  gauge<const Labels extends LabelValues = None>(
    definition: MetricDefinition<Labels>,
    read: (labels: LabelSet<Labels>) => number | Promise<number>,
  ): void {
    const collect = async () => {
      await Promise.all(labelSetsOf(definition).map(async (labels) => gauge.set(labels, await read(labels))));
    };
    const gauge = new Gauge({ ...this.configure(definition), collect });
  }

  private configure({ name, help, labels = {} }: MetricDefinition) {
    return { name, help, labelNames: Object.keys(labels), registers: [this.registry] };
  }
}

function labelSetsOf<Labels extends LabelValues>({ labels }: MetricDefinition<Labels>): LabelSet<Labels>[] {
  let sets: object[] = [{}];
  for (const [label, values] of Object.entries(labels ?? {})) {
    sets = sets.flatMap((set) => values.map((value) => Object.assign({}, set, { [label]: value })));
  }
  return sets as LabelSet<Labels>[];
}
