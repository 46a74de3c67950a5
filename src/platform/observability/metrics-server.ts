import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { MetricsPage } from './metrics-page.js';
import { RuntimeMetrics } from './runtime/runtime-metrics.js';

/** Where Prometheus looks by default. */
const PATH = '/metrics';

/**
 * Prometheus sends few headers, and quickly; nobody else can hold much open for long. It keeps its connection from one scrape to the
 * next, which are a minute apart at most by default. In milliseconds and bytes.
 */
const LIMITS = {
  headersTimeout: 5000,
  requestTimeout: 5000,
  connectionsCheckingInterval: 1000,
  keepAliveTimeout: 65_000,
  maxHeaderSize: 8192,
};

/** Connections at once, and how long one may be silent in the middle of an answer, in milliseconds. */
const CONNECTIONS = 100;
const SILENCE = 10_000;

/** How long the last answer may take, in milliseconds. */
const LAST_ANSWER = 500;

/**
 * Serves the metrics at `/metrics`, on a port of their own that need not be open to clients. It depends on nothing, and answers
 * while the service drains: Prometheus sees its last seconds.
 */
@Injectable()
export class MetricsServer implements OnApplicationShutdown {
  private readonly server = createServer(LIMITS, (request, response) => {
    this.answer(request, response).catch((error: unknown) => response.destroy(Error.isError(error) ? error : undefined));
  });

  constructor(
    private readonly page: MetricsPage,
    private readonly runtime: RuntimeMetrics,
  ) {
    this.server.maxConnections = CONNECTIONS;
    this.server.setTimeout(SILENCE);
  }

  /**
   * Takes the port.
   *
   * @returns the port, which is another one for 0
   * @throws Error `EADDRINUSE` when it is taken
   */
  async listen(port: number): Promise<number> {
    this.server.listen(port);
    await once(this.server, 'listening');
    this.runtime.start();
    return (this.server.address() as AddressInfo).port;
  }

  /** Nest calls it once the API has answered its last request. */
  async onApplicationShutdown(): Promise<void> {
    if (this.server.listening) {
      const closed = once(this.server, 'close');
      this.server.close();
      await Promise.race([closed, delay(LAST_ANSWER, undefined, { ref: false })]);
      this.server.closeAllConnections();
      await closed;
    }
  }

  private async answer({ method, url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    if (url.split('?', 1)[0] !== PATH) {
      response.writeHead(404).end();
    } else if (method !== 'GET' && method !== 'HEAD') {
      response.writeHead(405, { Allow: 'GET, HEAD' }).end();
    } else {
      const text = await this.page.render();
      const headers = { 'Content-Type': this.page.contentType, 'Content-Length': Buffer.byteLength(text) };
      response.writeHead(200, headers).end(method === 'HEAD' ? undefined : text);
    }
  }
}
