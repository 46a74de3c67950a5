import { Injectable, Logger } from '@nestjs/common';
import { within } from '../time/within.js';
import type { EventCounter } from './event-counter.js';
import { Metrics } from './metrics.js';

/** How long one metric may take to be read, in milliseconds: the others do not wait for it. */
const PATIENCE = 1000;

/** All metrics in Prometheus' text format, whatever becomes of single ones. */
@Injectable()
export class MetricsPage {
  private readonly logger = new Logger('Metrics');
  private readonly failures: EventCounter;
  /** Those that were left out last time: each is told of once. */
  private readonly missing = new Set<string>();
  private rendering: Promise<string> | undefined;

  constructor(private readonly metrics: Metrics) {
    this.failures = metrics.counter({
      name: 'items_metrics_read_failures_total',
      help: 'Metrics that were left out of an answer here, because reading them failed or took too long',
    });
  }

  get contentType(): string {
    return this.metrics.registry.contentType;
  }

  /** Renders them. Those who ask at once share one answer: nobody can make this the process's work. */
  render(): Promise<string> {
    this.rendering ??= this.renderAll().finally(() => {
      this.rendering = undefined;
    });
    return this.rendering;
  }

  private async renderAll(): Promise<string> {
    const names = this.metrics.registry.getMetricsAsArray().map(({ name }) => name);
    const texts = await Promise.all(names.map((name) => this.renderOne(name)));
    return `${texts.flatMap((text) => text ?? []).join('\n')}\n`;
  }

  private async renderOne(name: string): Promise<string | undefined> {
    try {
      const text = await within(PATIENCE, this.metrics.registry.getSingleMetricAsString(name));
      this.missing.delete(name);
      return text;
    } catch (error) {
      this.failures.inc({});
      if (!this.missing.has(name)) {
        this.missing.add(name);
        this.logger.warn({ msg: 'metric not read', metric: name, err: error });
      }
      return undefined;
    }
  }
}
