import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { Configuration, CUT_OFF } from '../config/configuration.js';
import { Metrics } from '../observability/metrics.js';
import type { HttpConnections } from './http-connections.js';

/**
 * Graceful shutdown, before Nest destroys the modules: for `SHUTDOWN_DELAY` after SIGTERM, until load balancers see that
 * this instance is not ready, it serves requests and closes each connection after its response. Then it stops listening, and
 * serves what it has accepted. Requests that still run shortly before `SHUTDOWN_TIMEOUT` are aborted.
 */
@Injectable()
export class Drain {
  /** Undefined in commands, which have no server. */
  httpServer: HttpConnections | undefined;
  private readonly logger = new Logger('Drain');
  private readonly beginning = new AbortController();
  private delay = 0;

  constructor(
    private readonly configuration: Configuration,
    metrics: Metrics,
  ) {
    metrics.gauge({ name: 'draining', help: 'Whether the service is shutting down' }, () => Number(this.hasBegun));
  }

  get hasBegun(): boolean {
    return this.signal.aborted;
  }

  /** Aborts when the shutdown begins. Responses that would never end must end then; those of `@Sse()` do so without it. */
  get signal(): AbortSignal {
    return this.beginning.signal;
  }

  /** Called at the signal. @param signal - undefined if the application is closed by code */
  begin(signal?: string): void {
    const { httpServer } = this;
    if (!httpServer || this.hasBegun) {
      return;
    }
    const timeout = this.configuration.SHUTDOWN_TIMEOUT * 1000;
    this.beginning.abort();
    httpServer.closeAfterResponses();
    const deadline = setTimeout(() => {
      this.logger.error(
        'Requests were still in flight shortly before SHUTDOWN_TIMEOUT and are aborted. ' +
          'If they should have ended, raise SHUTDOWN_TIMEOUT.',
      );
      httpServer.server.closeAllConnections();
    }, timeout * CUT_OFF).unref();
    httpServer.server.once('close', () => clearTimeout(deadline));
    // SIGINT comes from a terminal, without a load balancer.
    this.delay = signal === 'SIGTERM' && httpServer.server.listening ? this.configuration.SHUTDOWN_DELAY * 1000 : 0;
    if (signal !== undefined) {
      this.logger.log({ msg: 'shutting down', signal });
      // In case a module hangs.
      setTimeout(() => process.exit(0), timeout).unref();
    }
  }

  /** Resolves after the last response. */
  async complete(): Promise<void> {
    this.begin();
    await delay(this.delay);
    await this.httpServer?.close();
  }
}
