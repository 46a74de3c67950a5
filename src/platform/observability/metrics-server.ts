import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import express from 'express';
import { Metrics } from './metrics.js';
import { addProcessMetrics } from './process-metrics.js';

/** Serves `/metrics` on a port of its own, which clients need not reach, until the API has sent its last response. */
@Injectable()
export class MetricsServer implements OnApplicationShutdown {
  private server: Server | undefined;

  constructor(private readonly metrics: Metrics) {}

  /** @returns the port, which is another one for 0. @throws Error `EADDRINUSE` when it is taken */
  async listen(port: number): Promise<number> {
    const { registry } = this.metrics;
    addProcessMetrics(this.metrics);
    const app = express().disable('x-powered-by').enable('strict routing');
    app.get('/metrics', async (_request, response) => {
      response.setHeader('Content-Type', registry.contentType).end(await registry.metrics());
    });
    this.server = app.listen(port);
    await once(this.server, 'listening');
    return (this.server.address() as AddressInfo).port;
  }

  async onApplicationShutdown(): Promise<void> {
    if (this.server?.listening) {
      this.server.close().closeAllConnections();
      await once(this.server, 'close');
    }
  }
}
