import { Injectable } from '@nestjs/common';
import { type HealthCheckAttempt, HealthIndicatorService } from '@nestjs/terminus';
import { Metrics } from '../observability/metrics.js';

const CHECK_TIMEOUT = 3000;

/** The signal ends what the check waits for when its time is over. */
export type HealthCheck = (options: { signal: AbortSignal }) => Promise<unknown>;

/** Modules add what their requests depend on, in their constructors. */
@Injectable()
export class HealthIndicators {
  private readonly names: string[] = [];
  private readonly attempts: HealthCheckAttempt[] = [];
  private running: Promise<readonly string[]> | undefined;
  private end: readonly string[] | undefined;

  constructor(
    private readonly indicators: HealthIndicatorService,
    metrics: Metrics,
  ) {
    const ready = { name: 'items_ready', help: 'Whether /readyz says that the service takes requests' };
    metrics.gauge(ready, async () => Number((await this.failing()).length === 0));
    const help = 'Whether that which the service depends on worked in the latest check';
    const ok = { name: 'items_health_indicator_ok', help, labels: { indicator: this.names } };
    metrics.gauge(ok, async ({ indicator }) => Number(!(await this.failing()).includes(indicator)));
  }

  /**
   * The service is ready only while the check succeeds within three seconds; `/readyz` names those that do not.
   *
   * @param check - an indicator of Terminus, which fails with the status `down`, or anything else that fails by rejecting
   */
  add(name: string, check: HealthCheck): void {
    const attempt = this.indicators.check(name).attempt(async (options) => {
      if (isDown(await check(options))) throw new Error(`${name} is down`);
    });
    this.names.push(name);
    this.attempts.push(attempt.withTimeout(CHECK_TIMEOUT));
  }

  /** The service is not ready any more, regardless of the indicators. @param reason - in the response */
  endWith(reason: string): void {
    this.end = [reason];
  }

  /** Names of those that fail now. Concurrent calls share one check. */
  async failing(): Promise<readonly string[]> {
    const failing = this.end ?? (await (this.running ??= this.check()));
    return this.end ?? failing;
  }

  private async check(): Promise<readonly string[]> {
    const results = await Promise.all(this.attempts);
    this.running = undefined;
    return this.names.filter((name, index) => results[index]?.[name]?.status !== 'up');
  }
}

/** Whether this is a result of Terminus, of which an indicator is down. */
function isDown(result: unknown): boolean {
  const indicators = Object.values(Object(result) as Record<string, { status?: unknown } | undefined>);
  return indicators.some((indicator) => indicator?.status === 'down');
}
