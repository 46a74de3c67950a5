import type { EventCounter } from '../observability/event-counter.js';
import type { Metrics } from '../observability/metrics.js';
import { within } from '../time/within.js';

/** How long an answer with the metrics waits for a check, in milliseconds: it must come while indicators hang. */
const PATIENCE = 500;

/** What probes were told last. Between two answers with the metrics there can be several: the counter tells of them. */
export class ReadinessMetrics {
  private readonly changes: EventCounter<{ readonly to: readonly ['ready', 'unready'] }>;
  private failing: readonly string[] | undefined;
  private isReady = false;

  /**
   * @param names - of the indicators, which may still come
   * @param check - of all indicators; made here, too, so that what is told is true where nobody probes
   */
  constructor(
    metrics: Metrics,
    names: readonly string[],
    private readonly check: () => Promise<unknown>,
  ) {
    this.changes = metrics.counter({
      name: 'items_readiness_changes_total',
      help: 'How often the answer to /readyz changed, by the new one',
      labels: { to: ['ready', 'unready'] },
    });
    metrics.gauge({ name: 'items_ready', help: 'Whether /readyz says that the service takes requests' }, async () => {
      await this.refresh();
      return Number(this.isReady);
    });
    metrics.gauge(
      {
        name: 'items_health_indicator_ok',
        help: 'Whether that which the service depends on worked when it was last looked at',
        labels: { indicator: names },
      },
      async ({ indicator }) => {
        await this.refresh();
        return this.failing && Number(!this.failing.includes(indicator));
      },
    );
  }

  /** Of the indicators, these fail. */
  checked(failing: readonly string[]): void {
    this.failing = failing;
  }

  /** What a probe is told. */
  told(isReady: boolean): void {
    if (isReady !== this.isReady) {
      this.isReady = isReady;
      this.changes.inc({ to: isReady ? 'ready' : 'unready' });
    }
  }

  /** What takes longer has told its result by the next time. */
  private async refresh(): Promise<void> {
    await within(PATIENCE, this.check()).catch(() => undefined);
  }
}
