import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { Metrics } from '../metrics.js';

/** Milliseconds between two looks, which Node counts as delay. */
const RESOLUTION = 10;

/** For how long a delay is told of at least, in milliseconds: each of several Prometheis that ask this often sees every one. */
const WINDOW = 30_000;

/** What is told of the delays in some time, in nanoseconds. */
type Delays = Readonly<Record<'max' | 'mean' | 'p50' | 'p99', number>>;

const NO_DELAYS: Delays = { max: 0, mean: 0, p50: 0, p99: 0 };

const HELP: Readonly<Record<keyof Delays, string>> = {
  max: 'Longest delay',
  mean: 'Mean delay',
  p50: 'Median delay',
  p99: '99th percentile of the delays',
};

/** How late the event loop comes to what is due, and how busy it is: what it does at once, everybody else waits for. */
export class EventLoopMetrics {
  private readonly monitor = monitorEventLoopDelay({ resolution: RESOLUTION });
  private before = NO_DELAYS;
  private since = 0;

  constructor(metrics: Metrics) {
    for (const name of Object.keys(HELP) as (keyof Delays)[]) {
      const help = `${HELP[name]} of the event loop in the last 30 to 60 seconds`;
      metrics.gauge({ name: `nodejs_eventloop_lag_${name}_seconds`, help }, () => this.delay(name));
    }
    const states = ['active', 'idle'] as const;
    metrics.observedCounter(
      {
        name: 'nodejs_eventloop_time_seconds_total',
        help: 'Time that the event loop spent on work (active), and on waiting for some (idle)',
        labels: { state: states },
      },
      ({ state }) => performance.eventLoopUtilization()[state] / 1000,
    );
  }

  start(): void {
    this.since = performance.now();
    this.monitor.enable();
  }

  stop(): void {
    this.monitor.disable();
  }

  /** In seconds. Without new looks, which a process that has just started lacks, there is none. */
  private delay(name: keyof Delays): number {
    const now = performance.now();
    if (now - this.since > WINDOW) {
      this.before = this.delays();
      this.since = now;
      this.monitor.reset();
    }
    const longer = Math.max(this.before[name], this.delays()[name]);
    return Math.max(0, longer / 1e9 - RESOLUTION / 1000);
  }

  private delays(): Delays {
    const { monitor } = this;
    return monitor.count === 0
      ? NO_DELAYS
      : { max: monitor.max, mean: monitor.mean, p50: monitor.percentile(50), p99: monitor.percentile(99) };
  }
}
