import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Histogram, type LabelValues, Registry } from 'prom-client';
import { SERVICE_NAME } from '../service/service.js';

/** A metric, and all values of its labels, which clients must not be able to choose. */
interface MetricDefinition<Label extends string> {
  /** Named as in https://prometheus.io/docs/practices/naming/, without the name of the service, which is added as prefix. */
  readonly name: string;
  readonly help: string;
  readonly labels?: Readonly<Record<Label, readonly string[]>>;
}

/** Metrics of one application. Series of known labels start at 0: Prometheus does not see an increase to a first value. */
@Injectable()
export class Metrics {
  /** The registry of prom-client, for metrics whose names or labels have another form. */
  readonly registry = new Registry();

  counter<Label extends string = never>(definition: MetricDefinition<Label>): Counter<Label> {
    const counter = new Counter(this.configure(definition));
    for (const labels of labelSetsOf(definition)) counter.inc(labels, 0);
    return counter;
  }

  /** @param buckets - upper bounds in seconds; each adds a time series */
  histogram<Label extends string = never>(
    definition: MetricDefinition<Label>,
    buckets: readonly number[],
  ): Histogram<Label> {
    const histogram = new Histogram({ ...this.configure(definition), buckets: [...buckets] });
    for (const labels of labelSetsOf(definition)) histogram.zero(labels);
    return histogram;
  }

  /** @param read - called for each series at each scrape, which waits for it. If it fails, the scrape lacks the metric */
  gauge<Label extends string = never>(
    definition: MetricDefinition<Label>,
    read: (labels: Readonly<Record<Label, string>>) => number | Promise<number>,
  ): void {
    const collect = async () => {
      await Promise.all(labelSetsOf(definition).map(async (labels) => gauge.set(labels, await read(labels))));
    };
    const gauge = new Gauge({ ...this.configure(definition), collect });
  }

  private configure<Label extends string>({ name, help, labels }: MetricDefinition<Label>) {
    const labelNames = Object.keys(labels ?? {}) as Label[];
    return { name: `${SERVICE_NAME}_${name}`, help, labelNames, registers: [this.registry] };
  }
}

function labelSetsOf<Label extends string>({ labels }: MetricDefinition<Label>) {
  let sets: object[] = [{}];
  for (const [label, values] of Object.entries<readonly string[]>(labels ?? {})) {
    sets = sets.flatMap((set) => values.map((value) => Object.assign({}, set, { [label]: value })));
  }
  return sets as (Record<Label, string> & LabelValues<Label>)[];
}
