import { Injectable } from '@nestjs/common';
import Counter from 'prom-client/lib/counter.js';
import { Metrics } from '../observability/metrics.js';

/** Pairs of operation and caller that are told apart: each is a time series for as long as the process runs. */
const MAXIMUM_PAIRS = 1000;

/** Tells who still calls what will be removed. */
@Injectable()
export class DeprecatedCalls {
  private readonly pairs = new Set<string>();
  private readonly counter: Counter<'operation' | 'principal_id'>;

  constructor({ registry }: Metrics) {
    this.counter = new Counter({
      name: 'items_deprecated_calls_total',
      help: `Calls of deprecated operations, by operation and caller; other: callers that came after ${MAXIMUM_PAIRS} such pairs`,
      labelNames: ['operation', 'principal_id'],
      registers: [registry],
    });
  }

  /** @param principalId - undefined for a call that needs none */
  count(operation: string, principalId = 'none'): void {
    const pair = `${operation} ${principalId}`;
    const isKnown = this.pairs.has(pair) || this.pairs.size < MAXIMUM_PAIRS;
    if (isKnown) {
      this.pairs.add(pair);
    }
    this.counter.inc({ operation, principal_id: isKnown ? principalId : 'other' });
  }
}
