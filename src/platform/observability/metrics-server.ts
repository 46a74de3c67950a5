import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import express, { type RequestHandler } from 'express';
import { collectDefaultMetrics, Gauge } from 'prom-client';
import { SERVICE_VERSION } from '../service/service.js';
import { withTimeout } from '../time/duration.js';
import { Metrics } from './metrics.js';
import { droppedLines } from './log-output.js';
import { warnOnceAMinute } from '../errors/warn-once-a-minute.js';

/** Milliseconds for one metric; Prometheus waits ten seconds by default. */
const COLLECTION_TIMEOUT = 5000;

/** Serves `/metrics` and probes on a separate port, without the API's limits, until the API has sent its last response. */
@Injectable()
export class MetricsServer implements OnApplicationShutdown {
  private readonly app = express().disable('x-powered-by');
  private server: Server | undefined;
  private respondToProbe: RequestHandler = (_request, response) => void response.status(503).end();

  constructor(private readonly metrics: Metrics) {}

  /** @param port - 0 for a free one. @returns the port. @throws Error `EADDRINUSE` */
  async listen(port: number): Promise<number> {
    const { registry } = this.metrics;
    addProcessMetrics(this.metrics);
    const help = 'Metrics that a scrape lacks, because they could not be read';
    const notRead = this.metrics.counter({ name: 'metrics_not_read_total', help });
    const warn = warnOnceAMinute(new Logger('Metrics'));
    this.app.get('/metrics', async (_request, response) => {
      const texts = registry.getMetricsAsArray().map(({ name }) =>
        withTimeout(COLLECTION_TIMEOUT, registry.getSingleMetricAsString(name)).catch((error: unknown) => {
          notRead.inc();
          warn(`metric ${name} not read`, error);
          return '';
        }),
      );
      response.setHeader('Content-Type', registry.contentType).end(`${(await Promise.all(texts)).join('\n')}\n`);
    });
    this.app.get(['/livez', '/readyz'], (request, response, next) => this.respondToProbe(request, response, next));
    // Replaces the HTML page of Express.
    this.app.use((_request, response) => void response.status(404).end());
    this.server = this.app.listen(port);
    await once(this.server, 'listening');
    return (this.server.address() as AddressInfo).port;
  }

  /** Ends the 503 for probes, and passes them to the API. Called once it listens: the process is not ready before. */
  serveProbes(api: RequestHandler): void {
    this.respondToProbe = api;
  }

  onApplicationShutdown(): void {
    this.server?.close().closeAllConnections();
  }
}

function addProcessMetrics(metrics: Metrics): void {
  const { registry } = metrics;
  registry.registerMetric(droppedLines);
  collectDefaultMetrics({ register: registry });
  for (const { name } of registry.getMetricsAsArray()) {
    // Active resources cost time for each connection, and their names are discouraged; versions are in build_info.
    if (/^nodejs_(?:active_|version_)/.test(name)) registry.removeSingleMetric(name);
  }
  const heapLimit = { name: 'nodejs_heap_size_limit_bytes', help: 'Heap size at which the process runs out of memory' };
  new Gauge({ ...heapLimit, registers: [registry] }).set(getHeapStatistics().heap_size_limit);
  const memoryLimit = {
    name: 'memory_limit_bytes',
    help: "Memory available to the process: the container's limit, or the machine's memory",
  };
  // Without a limit, Node returns 0 or a huge number.
  metrics.gauge(memoryLimit, () => Math.min(process.constrainedMemory() || Infinity, totalmem()));
  const labels = { version: [SERVICE_VERSION], node: [process.version] };
  metrics.gauge({ name: 'build_info', help: 'Always 1, with the versions of the service and of Node.js', labels }, () => 1);
}
