import { setTimeout as delay } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Configuration, CUT_OFF } from '../config/configuration.js';
import { HealthIndicators } from '../health/health-indicators.js';
import { Metrics } from '../observability/metrics.js';
import type { Connections } from './connections.js';

/**
 * Ends the service without losing a request. After SIGTERM load balancers go on sending until they have seen that this replica is
 * not ready. For `SHUTDOWN_DELAY` requests are served as before, but each response closes its connection, so that its client opens
 * the next one elsewhere. Then the server closes. What is left shortly before `SHUTDOWN_TIMEOUT` is cut off.
 */
@Injectable()
export class Drain implements BeforeApplicationShutdown {
  /** Those of the server; in a command there is none. */
  connections: Connections | undefined;
  hasBegun = false;
  private readonly logger = new Logger('Drain');

  constructor(
    private readonly configuration: Configuration,
    private readonly indicators: HealthIndicators,
    metrics: Metrics,
  ) {
    metrics.gauge({ name: 'items_draining', help: 'Whether the service ends' }, () => Number(this.hasBegun));
  }

  /** @param signal - that ends the service; none when it is closed by its own code */
  async beforeApplicationShutdown(signal?: string): Promise<void> {
    const { connections, configuration } = this;
    if (!connections) {
      return;
    }
    const timeout = configuration.SHUTDOWN_TIMEOUT * 1000;
    this.hasBegun = true;
    this.indicators.endWith('shutdown');
    connections.closeAfterResponses();
    const deadline = setTimeout(() => {
      this.logger.error('Requests were still in flight shortly before SHUTDOWN_TIMEOUT and are cut off.');
      connections.server.closeAllConnections();
    }, timeout * CUT_OFF).unref();
    connections.server.once('close', () => clearTimeout(deadline));
    if (signal !== undefined) {
      this.logger.log({ msg: 'shutting down', signal });
      // Even if a module hangs.
      setTimeout(() => process.exit(0), timeout).unref();
    }
    // An interrupt comes from a terminal: there is no load balancer to wait for.
    if (signal === 'SIGTERM') {
      await delay(configuration.SHUTDOWN_DELAY * 1000);
    }
    connections.closeIdle();
  }
}
