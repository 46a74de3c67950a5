import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Metrics } from './metrics.js';

/** Serves the metrics at `/metrics`, on a port of their own that need not be open to clients. */
@Injectable()
export class MetricsServer implements OnApplicationShutdown {
  private readonly server = createServer((request, response) => {
    this.answer(request, response).catch((error: unknown) => response.destroy(Error.isError(error) ? error : undefined));
  });

  constructor(private readonly metrics: Metrics) {}

  /**
   * Takes the port.
   *
   * @returns the port, which is another one for 0
   * @throws Error `EADDRINUSE` when it is taken
   */
  async listen(port: number): Promise<number> {
    this.server.listen(port);
    await once(this.server, 'listening');
    return (this.server.address() as AddressInfo).port;
  }

  async onApplicationShutdown(): Promise<void> {
    if (this.server.listening) {
      this.server.closeAllConnections();
      await new Promise((resolve) => this.server.close(resolve));
    }
  }

  private async answer({ method, url }: IncomingMessage, response: ServerResponse): Promise<void> {
    if (method !== 'GET' || url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    const { registry } = this.metrics;
    const text = await registry.metrics();
    response.writeHead(200, { 'Content-Type': registry.contentType }).end(text);
  }
}
