import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import type { DurationHistogram } from '../duration-histogram.js';
import type { Metrics } from '../metrics.js';

const KINDS = ['major', 'minor', 'incremental', 'weakcb'] as const;

type Kind = (typeof KINDS)[number];

const KIND_BY_NUMBER: Readonly<Record<number, Kind>> = {
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
};

/** Upper bounds of the buckets, in seconds. */
const BOUNDS = [0.001, 0.01, 0.1, 1];

/** How long the process stood still for its garbage collector. */
export class GarbageCollectionMetrics {
  private readonly pauses: DurationHistogram<{ readonly kind: readonly Kind[] }>;
  private readonly observer = new PerformanceObserver((list) => {
    for (const { duration, detail } of list.getEntries() as (PerformanceEntry & { detail?: { kind?: number } })[]) {
      const kind = KIND_BY_NUMBER[detail?.kind ?? 0];
      if (kind) {
        this.pauses.observe({ kind }, duration / 1000);
      }
    }
  });

  constructor(metrics: Metrics) {
    const labels = { kind: KINDS };
    this.pauses = metrics.histogram(
      { name: 'nodejs_gc_duration_seconds', help: 'Time that garbage collection took, by its kind', labels },
      BOUNDS,
    );
  }

  start(): void {
    this.observer.observe({ entryTypes: ['gc'] });
  }

  stop(): void {
    this.observer.disconnect();
  }
}
