import { Injectable } from '@nestjs/common';
import { Metrics } from '../observability/metrics.js';
import { within } from '../time/within.js';
import { ReadinessMetrics } from './readiness-metrics.js';

/** How long an indicator may take, in milliseconds. */
const PATIENCE = 3000;

/** Something that must work for the service to take requests. */
export interface HealthIndicator {
  /** Named in the answer of `/readyz` while it fails. */
  readonly name: string;
  /** Resolves when all is well; rejects, or takes longer than three seconds, when it is not. */
  check(): Promise<void>;
}

/** Where modules register what their requests depend on. */
@Injectable()
export class HealthIndicators {
  private readonly indicators: HealthIndicator[] = [];
  private readonly names: string[] = [];
  private readonly metrics: ReadinessMetrics;
  private running: Promise<string[]> | undefined;
  private end: string | undefined;

  constructor(metrics: Metrics) {
    this.metrics = new ReadinessMetrics(metrics, this.names, () => this.failing());
  }

  /** From now on the service is ready only while this works, too. Call it in the constructor of a module. */
  add(indicator: HealthIndicator): void {
    this.indicators.push(indicator);
    this.names.push(indicator.name);
  }

  /** From now on the service is not ready, whatever the indicators say. @param reason - named in the answer */
  endWith(reason: string): void {
    this.end = reason;
    this.metrics.told(false);
  }

  /** Names of those that fail now. However many ask at once, each indicator is checked by one at a time. */
  async failing(): Promise<string[]> {
    this.running ??= this.checkAll().finally(() => {
      this.running = undefined;
    });
    const failing = this.end === undefined ? await this.running : [];
    // It may have come meanwhile.
    const told = this.end === undefined ? failing : [this.end];
    this.metrics.told(told.length === 0);
    return told;
  }

  private async checkAll(): Promise<string[]> {
    // Whatever an indicator does, a probe is answered.
    const checks = this.indicators.map((indicator) =>
      within(
        PATIENCE,
        Promise.resolve().then(() => indicator.check()),
      ),
    );
    const results = await Promise.allSettled(checks);
    const failing = this.indicators.filter((_, index) => results[index]?.status === 'rejected').map(({ name }) => name);
    this.metrics.checked(failing);
    return failing;
  }
}
