import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import express from 'express';
import { collectDefaultMetrics } from 'prom-client';
import { SERVICE_VERSION } from '../config/configuration.js';
import { Metrics } from './metrics.js';

/** Serves `/metrics` on a port of its own, which clients need not reach, until the API has sent its last response. */
@Injectable()
export class MetricsServer implements OnApplicationShutdown {
  private server: Server | undefined;

  constructor(private readonly metrics: Metrics) {}

  /** @returns the port, which is another one for 0. @throws Error `EADDRINUSE` when it is taken */
  async listen(port: number): Promise<number> {
    const { registry } = this.metrics;
    addProcessMetrics(this.metrics);
    const app = express().disable('x-powered-by');
    app.get('/metrics', async (_request, response) => {
      response.setHeader('Content-Type', registry.contentType).end(await registry.metrics());
    });
    this.server = app.listen(port);
    await once(this.server, 'listening');
    return (this.server.address() as AddressInfo).port;
  }

  onApplicationShutdown(): void {
    this.server?.close().closeAllConnections();
  }
}

/** Adds prom-client's metrics of the process and of Node, and what alerts need beside them. */
function addProcessMetrics(metrics: Metrics): void {
  const { registry } = metrics;
  collectDefaultMetrics({ register: registry });
  for (const { name } of registry.getMetricsAsArray()) {
    // Active resources take time for each connection, under names that Prometheus discourages; the version is in items_build_info.
    if (/^nodejs_(?:active_|version_)/.test(name)) registry.removeSingleMetric(name);
  }
  const heapLimit = { name: 'nodejs_heap_size_limit_bytes', help: 'Heap size at which the process ends' };
  metrics.gauge(heapLimit, () => getHeapStatistics().heap_size_limit);
  const memoryLimit = {
    name: 'items_memory_limit_bytes',
    help: "Memory for the process: the container's limit, or the machine's",
  };
  // Without a limit, Node gives 0 or a number beyond all memory.
  metrics.gauge(memoryLimit, () => Math.min(process.constrainedMemory() || Infinity, totalmem()));
  const labels = { version: [SERVICE_VERSION], node: [process.version] };
  metrics.gauge({ name: 'items_build_info', help: 'Always 1, with the versions of the service and of Node', labels }, () => 1);
}
