import { Injectable } from '@nestjs/common';
import { type HealthCheckAttempt, HealthIndicatorService } from '@nestjs/terminus';
import { Drain } from '../http/drain.js';
import { Metrics } from '../observability/metrics.js';

const CHECK_TIMEOUT = 3000;

/** A readiness check. Its signal aborts when the check ends, at the latest at the time limit. */
export type HealthCheck = (options: { signal: AbortSignal }) => PromiseLike<unknown>;

/** Modules register the dependencies of their requests here, in their constructors. */
@Injectable()
export class HealthIndicators {
  private readonly names: string[] = [];
  private readonly attempts: HealthCheckAttempt[] = [];
  private running: Promise<readonly string[]> | undefined;

  constructor(
    private readonly indicators: HealthIndicatorService,
    private readonly drain: Drain,
    metrics: Metrics,
  ) {
    const ready = { name: 'ready', help: 'Whether /readyz reports that the service accepts requests' };
    metrics.gauge(ready, async () => Number((await this.failing()).length === 0));
    const help = 'Whether the latest check of a dependency succeeded';
    const ok = { name: 'health_indicator_ok', help, labels: { indicator: this.names } };
    metrics.gauge(ok, async ({ indicator }) => Number(!(await this.failing()).includes(indicator)));
  }

  /** Adds a check that must succeed within 3 seconds for `/readyz`. @param check - rejects, or is a Terminus indicator */
  add(name: string, check: HealthCheck): void {
    const attempt = this.indicators.check(name).attempt(async (options) => {
      // A Terminus indicator does not reject when it is down, but returns that status.
      const result = Object(await check(options)) as Record<string, { status?: unknown } | undefined>;
      if (Object.values(result).some((indicator) => indicator?.status === 'down')) throw new Error(`${name} is down`);
    });
    this.names.push(name);
    this.attempts.push(attempt.withTimeout(CHECK_TIMEOUT));
  }

  /** Names of failed checks. Concurrent calls share one run. */
  async failing(): Promise<readonly string[]> {
    const failing = await (this.running ??= this.check());
    return this.drain.hasBegun ? ['shutdown', ...failing] : failing;
  }

  private async check(): Promise<readonly string[]> {
    const results = await Promise.all(this.attempts);
    this.running = undefined;
    return this.names.filter((name, index) => results[index]?.[name]?.status !== 'up');
  }
}
