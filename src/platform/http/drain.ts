import type { Server } from 'node:http';
import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Configuration } from '../config/configuration.js';

/** How often connections that have become idle are closed while the server closes, in milliseconds. */
const SWEEP_INTERVAL = 50;

/**
 * Lets the server close as soon as its last request is answered: Node closes the connections that are idle at the start of
 * shutdown, but not those whose client keeps them alive afterwards. After `SHUTDOWN_TIMEOUT` what is left is cut off.
 */
@Injectable()
export class Drain implements BeforeApplicationShutdown {
  private readonly logger = new Logger('Drain');

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly configuration: Configuration,
  ) {}

  beforeApplicationShutdown(): void {
    const server = httpServerOf(this.adapterHost);
    if (!server?.listening) {
      return;
    }
    const sweep = setInterval(() => {
      server.closeIdleConnections();
    }, SWEEP_INTERVAL);
    const deadline = setTimeout(() => {
      this.logger.error('Requests were still in flight after SHUTDOWN_TIMEOUT and are cut off.');
      server.closeAllConnections();
    }, this.configuration.SHUTDOWN_TIMEOUT * 1000);
    server.once('close', () => {
      clearInterval(sweep);
      clearTimeout(deadline);
    });
  }
}

/** Undefined in a command, which runs without a server. */
function httpServerOf({ httpAdapter }: Partial<HttpAdapterHost>): Server | undefined {
  return httpAdapter?.getHttpServer() as Server | undefined;
}
