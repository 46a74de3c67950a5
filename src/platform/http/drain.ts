import { setTimeout as delay } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Configuration, CUT_OFF } from '../config/configuration.js';
import { HealthIndicators } from '../health/health-indicators.js';
import { Metrics } from '../observability/metrics.js';
import type { Connections } from './connections.js';

/** How often connections that have become idle are closed while the server closes, in milliseconds. */
const SWEEP_INTERVAL = 50;

/** Within this time of the first, a second signal is an echo: npm passes on what the terminal has sent as well. In milliseconds. */
const ECHO = 500;

/**
 * Ends the service without losing a request.
 *
 * On SIGTERM load balancers go on sending until they have seen that this replica is not ready any more. For `SHUTDOWN_DELAY`
 * requests are therefore served as before, but each answer closes its connection, so that its client opens the next one
 * elsewhere. Then the server closes, as soon as its last request is answered: Node closes the connections that are idle then,
 * but neither those whose client keeps them alive afterwards nor those on which a request has only begun to arrive. What is
 * left shortly before `SHUTDOWN_TIMEOUT` is cut off. A second signal ends the process at once.
 */
@Injectable()
export class Drain implements BeforeApplicationShutdown {
  private readonly logger = new Logger('Drain');
  private connections: Connections | undefined;
  private begun = false;

  constructor(
    private readonly configuration: Configuration,
    private readonly indicators: HealthIndicators,
    metrics: Metrics,
  ) {
    metrics.gauge({ name: 'items_draining', help: 'Whether the service ends' }, () => Number(this.begun));
  }

  /** Tells it the connections of the server; in a command there is none. */
  watch(connections: Connections): void {
    this.connections = connections;
  }

  /** Whether the service ends. */
  get hasBegun(): boolean {
    return this.begun;
  }

  /** @param signal - that ends the service; none when it is closed by its own code */
  async beforeApplicationShutdown(signal?: string): Promise<void> {
    const { connections, configuration } = this;
    if (!connections) {
      return;
    }
    this.begun = true;
    this.indicators.endWith('shutdown');
    connections.closeWhenAnswered();
    const deadline = setTimeout(
      () => {
        this.logger.error('Requests were still in flight shortly before SHUTDOWN_TIMEOUT and are cut off.');
        connections.closeAll();
      },
      configuration.SHUTDOWN_TIMEOUT * CUT_OFF * 1000,
    );
    if (signal !== undefined) {
      this.logger.log({ msg: 'shutting down', signal });
      this.exitAtNextSignal();
      // Even if a module hangs.
      setTimeout(() => process.exit(0), configuration.SHUTDOWN_TIMEOUT * 1000).unref();
    }
    // An interrupt comes from a terminal: there is no load balancer to wait for.
    if (signal === 'SIGTERM') {
      await delay(configuration.SHUTDOWN_DELAY * 1000);
    }
    const sweep = setInterval(() => {
      connections.closeIdle();
    }, SWEEP_INTERVAL);
    connections.whenClosed(() => {
      clearInterval(sweep);
      clearTimeout(deadline);
    });
  }

  private exitAtNextSignal(): void {
    const first = performance.now();
    const exit = (signal: NodeJS.Signals, number: number) => {
      if (performance.now() - first > ECHO) {
        this.logger.warn({ msg: 'exiting at once', signal });
        process.exit(128 + number);
      }
    };
    process.on('SIGTERM', exit).on('SIGINT', exit);
  }
}
