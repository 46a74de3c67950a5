import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Configuration } from '../config/configuration.js';
import type { Connections } from './connections.js';

/** How often connections that have become idle are closed while the server closes, in milliseconds. */
const SWEEP_INTERVAL = 50;

/**
 * Lets the server close as soon as its last request is answered. Node closes the connections that are idle at the start of
 * shutdown, but neither those whose client keeps them alive afterwards nor those on which a request has only begun to
 * arrive. After `SHUTDOWN_TIMEOUT` what is left is cut off.
 */
@Injectable()
export class Drain implements BeforeApplicationShutdown {
  private readonly logger = new Logger('Drain');
  private connections: Connections | undefined;

  constructor(private readonly configuration: Configuration) {}

  /** Tells it the connections of the server; in a command there is none. */
  watch(connections: Connections): void {
    this.connections = connections;
  }

  beforeApplicationShutdown(): void {
    const { connections } = this;
    if (connections) {
      const sweep = setInterval(() => {
        connections.closeIdle();
      }, SWEEP_INTERVAL);
      const deadline = setTimeout(() => {
        this.logger.error('Requests were still in flight after SHUTDOWN_TIMEOUT and are cut off.');
        connections.closeAll();
      }, this.configuration.SHUTDOWN_TIMEOUT * 1000);
      connections.whenClosed(() => {
        clearInterval(sweep);
        clearTimeout(deadline);
      });
    }
  }
}
