import { Injectable } from '@nestjs/common';
import Registry from 'prom-client/lib/registry.js';
import { DurationHistogram } from './duration-histogram.js';
import { EventCounter } from './event-counter.js';
import { type LabelSet, labelSetsOf, type LabelValues } from './label-sets.js';
import { type MetricDefinition, register } from './registered-metric.js';

/** Gives a number whenever somebody asks; undefined while there is none. It must be quick: Prometheus waits for it. */
export type Reading<Labels extends LabelValues> = (labels: LabelSet<Labels>) => number | undefined | Promise<number | undefined>;

/** No labels. */
type None = Readonly<Record<string, never>>;

/**
 * What this process measures about itself; each application has its own. Modules inject it and make their metrics in their
 * constructors, with all values that a label can have: clients must not be able to make time series.
 */
@Injectable()
export class Metrics {
  /** Where the metrics are, by name. */
  readonly registry = new Registry();

  /**
   * A metric that counts what happens.
   *
   * @param definition - its name ends in `_total`
   * @throws Error when the name is none or taken, or the labels have more than 1,000 combinations
   */
  counter<const Labels extends LabelValues = None>(definition: MetricDefinition<Labels>): EventCounter<Labels> {
    return new EventCounter(this.registry, definition);
  }

  /**
   * A metric that counts how often something took how long.
   *
   * @param definition - its name ends in `_seconds`
   * @param bounds - upper bounds of the buckets in seconds, in ascending order; each makes another time series
   * @throws Error when the name is none or taken, or the labels have more than 1,000 combinations
   */
  histogram<const Labels extends LabelValues = None>(
    definition: MetricDefinition<Labels>,
    bounds: readonly number[],
  ): DurationHistogram<Labels> {
    return new DurationHistogram(this.registry, definition, bounds);
  }

  /**
   * A metric that tells how something is now.
   *
   * @param read - asked for each combination of the labels when Prometheus asks
   * @throws Error when the name is none or taken
   */
  gauge<const Labels extends LabelValues = None>(definition: MetricDefinition<Labels>, read: Reading<Labels>): void {
    this.observe('gauge', definition, read);
  }

  /**
   * A metric for what somebody else counts, and never counts down.
   *
   * @param definition - its name ends in `_total`
   * @param read - asked for each combination of the labels when Prometheus asks
   * @throws Error when the name is none or taken
   */
  observedCounter<const Labels extends LabelValues = None>(definition: MetricDefinition<Labels>, read: Reading<Labels>): void {
    this.observe('counter', definition, read);
  }

  private observe<Labels extends LabelValues>(
    type: 'gauge' | 'counter',
    definition: MetricDefinition<Labels>,
    read: Reading<Labels>,
  ): void {
    const { name, labels = {} as Labels } = definition;
    register(this.registry, type, definition, async () => {
      const samples = labelSetsOf(name, labels).map(async (set) => ({
        labels: set as Record<string, string>,
        value: await read(set),
      }));
      return (await Promise.all(samples)).filter(
        (sample): sample is typeof sample & { value: number } => sample.value !== undefined,
      );
    });
  }
}
