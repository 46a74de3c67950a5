import { Server as TcpServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import type { Response } from 'express';
import { Configuration, CUT_OFF } from '../config/configuration.js';
import { Metrics } from '../observability/metrics.js';
import type { HttpConnections } from './http-connections.js';

/** The port closes after a pause of so many milliseconds without a new connection, at the latest after so many pauses. */
const ACCEPT_PAUSE = 50;
const MAX_PAUSES = 10;

/** After the port has closed, milliseconds between searches for event streams, and until idle connections are closed. */
const STREAMS_PAUSE = 100;
const LINGER = 1000;

/**
 * Graceful shutdown, before Nest destroys the modules: for `SHUTDOWN_DELAY` after SIGTERM, until load balancers see that
 * this instance is not ready, it serves requests and closes each connection after its response. Then it stops listening, and
 * serves what it has accepted. Requests that still run shortly before `SHUTDOWN_TIMEOUT` are aborted.
 */
@Injectable()
export class Drain {
  /** Undefined in commands, which have no server. */
  http: HttpConnections | undefined;
  private readonly logger = new Logger('Drain');
  private readonly beginning = new AbortController();
  /** Aborts when the shutdown begins. Endless responses must then end, except those of `@Sse()`, which this class ends. */
  readonly signal: AbortSignal = this.beginning.signal;
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

  /** Begins the shutdown, once. @param signal - of the operating system; undefined if code closes the application */
  begin(signal?: string): void {
    const { http } = this;
    if (!http || this.hasBegun) {
      return;
    }
    const { server } = http;
    const timeout = this.configuration.SHUTDOWN_TIMEOUT * 1000;
    this.beginning.abort();
    closeAfterResponses(http);
    endEventStreams(http);
    const deadline = setTimeout(() => {
      this.logger.error(
        'Requests were still in flight shortly before SHUTDOWN_TIMEOUT and are aborted. ' +
          'If they should have ended, raise SHUTDOWN_TIMEOUT.',
      );
      server.closeAllConnections();
    }, timeout * CUT_OFF).unref();
    server.once('close', () => clearTimeout(deadline));
    // SIGINT comes from a terminal, where no load balancer has to notice the shutdown.
    this.delay = signal === 'SIGTERM' && server.listening ? this.configuration.SHUTDOWN_DELAY * 1000 : 0;
    if (signal !== undefined) {
      this.logger.log({ msg: 'shutting down', signal });
      // Ends the process even if a module hangs while Nest destroys it.
      setTimeout(() => process.exit(0), timeout).unref();
    }
  }

  /** Resolves after the last response, when all connections are closed. */
  async complete(): Promise<void> {
    this.begin();
    await delay(this.delay);
    if (this.http) {
      await closeServer(this.http);
    }
  }
}

/** From now on, the latest response of each connection carries `Connection: close`. */
function closeAfterResponses(http: HttpConnections): void {
  http.isDraining = true;
  for (const pending of http.connections.values()) {
    const latest = pending.at(-1);
    if (latest?.headersSent === false) latest.shouldKeepAlive = false;
  }
}

/** Stops listening, and serves the requests of the connections that are open. */
async function closeServer(http: HttpConnections): Promise<void> {
  if (http.server.listening) {
    await acceptAll(http);
  }
  // `close()` of an HTTP server would also cut responses that are in transfer.
  const closed = new Promise<void>((resolve) => TcpServer.prototype.close.call(http.server, () => resolve()));
  const { held = [] } = http;
  http.held = undefined;
  held.forEach((next) => next());
  const ending = setInterval(() => endEventStreams(http), STREAMS_PAUSE);
  const closing = setTimeout(() => closeIdle(http), LINGER);
  await closed;
  clearInterval(ending);
  clearTimeout(closing);
}

/**
 * Accepts all connections before the port closes, when the operating system would reset those that wait to be accepted.
 * Holds requests until no new connection arrives: clients that wait for a response open no further ones.
 */
async function acceptAll(http: HttpConnections): Promise<void> {
  http.held = [];
  for (let count = -1, pauses = 0; count !== http.accepted && pauses < MAX_PAUSES; pauses += 1) {
    count = http.accepted;
    await delay(ACCEPT_PAUSE);
  }
}

/** Closes connections that are idle, have sent incomplete headers, or do not read the end of an event stream. */
function closeIdle({ connections }: HttpConnections): void {
  for (const [socket, pending] of connections) {
    if (pending.every(isEventStream)) socket.destroy();
  }
}

/** Event streams that have been ended, which may take a while if middleware compresses them or stores a session. */
const ended = new WeakSet<Response>();

/** Ends the streams of `@Sse()`, whose clients connect again, to another instance. */
function endEventStreams({ connections }: HttpConnections): void {
  for (const response of [...connections.values()].flat()) {
    if (!ended.has(response) && isEventStream(response)) {
      ended.add(response);
      // A later event of the handler is an error, a write after the end, and is ignored.
      response.on('error', () => undefined).once('finish', () => response.socket?.destroySoon());
      // Without a callback: `express-session` and `compression` replace `end`, and take it for the last part of the body.
      response.end();
    }
  }
}

function isEventStream(response: Response): boolean {
  return response.headersSent && /^text\/event-stream\b/.test(String(response.getHeader('Content-Type')));
}
