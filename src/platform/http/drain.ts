import { setTimeout as delay } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Configuration, CUT_OFF } from '../config/configuration.js';
import { HealthIndicators } from '../health/health-indicators.js';
import { Metrics } from '../observability/metrics.js';
import type { HttpServer } from './http-server.js';

/**
 * Graceful shutdown: for `SHUTDOWN_DELAY` after SIGTERM, until load balancers see that this replica is not ready, it serves requests and
 * closes each connection after its response. Requests that still run shortly before `SHUTDOWN_TIMEOUT` are aborted.
 */
@Injectable()
export class Drain implements BeforeApplicationShutdown {
  /** Undefined in commands, which have no server. */
  httpServer: HttpServer | undefined;
  private readonly logger = new Logger('Drain');

  constructor(
    private readonly configuration: Configuration,
    private readonly indicators: HealthIndicators,
    metrics: Metrics,
  ) {
    metrics.gauge({ name: 'items_draining', help: 'Whether the service is shutting down' }, () => Number(this.hasBegun));
  }

  get hasBegun(): boolean {
    return this.indicators.isShuttingDown;
  }

  /** Called at the signal, because Nest first destroys all modules. @param signal - undefined if the application is closed by code */
  begin(signal?: string): void {
    const { httpServer } = this;
    if (!httpServer || this.hasBegun) {
      return;
    }
    const timeout = this.configuration.SHUTDOWN_TIMEOUT * 1000;
    this.indicators.isShuttingDown = true;
    httpServer.closeAfterResponses();
    const deadline = setTimeout(() => {
      this.logger.error('Requests were still in flight shortly before SHUTDOWN_TIMEOUT and are aborted.');
      httpServer.server.closeAllConnections();
    }, timeout * CUT_OFF).unref();
    httpServer.server.once('close', () => clearTimeout(deadline));
    if (signal !== undefined) {
      this.logger.log({ msg: 'shutting down', signal });
      // In case a module hangs.
      setTimeout(() => process.exit(0), timeout).unref();
    }
  }

  async beforeApplicationShutdown(signal?: string): Promise<void> {
    this.begin(signal);
    // SIGINT comes from a terminal, without a load balancer.
    if (this.httpServer && signal === 'SIGTERM') {
      await delay(this.configuration.SHUTDOWN_DELAY * 1000);
    }
    this.httpServer?.closeIdle();
  }
}
