import type { Server } from 'node:http';
import { Server as TcpServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { NextFunction, RequestHandler, Response } from 'express';
import type { Configuration } from '../config/configuration.js';
import type { Metrics } from '../observability/metrics.js';
import { pathPrefixOf } from '../config/origins.js';
import { addressLimit } from './address-limit.js';
import { endEventStreams, isEventStream } from './event-streams.js';
import { replaceDefaults, setLimits } from './node-defaults.js';
import { afterResponse, UnreadResponses } from './unread-responses.js';
import { UnreadableRequests } from './unreadable-requests.js';

/** Maximum pipelined requests of one connection. Real clients pipeline only a few. */
const MAX_PENDING = 16;

/** In milliseconds. */
const TIMES = {
  /** Without progress until a client that does not read is disconnected, and between two searches for such clients. */
  stall: 30_000,
  pause: 5000,
  /** In a shutdown: between searches for event streams, without a new connection before the port closes, and after it. */
  streams: 100,
  accept: 50,
  linger: 1000,
};

/** Maximum {@link TIMES}.accept intervals before the port closes anyway. */
const MAX_PAUSES = 10;

/** Limits each connection, and sends problems for errors that Node and Express would handle themselves, before any guard. */
export class HttpConnections {
  /** Open connections with their responses that are not complete. */
  private readonly connections = new Map<Socket, Set<Response>>();
  private readonly cut;
  private readonly unread = new UnreadResponses(() => this.cut.inc({ limit: 'unread' }));
  private isDraining = false;
  /** Connections until now. */
  private accepted = 0;
  /** Requests that wait until the port is closed; undefined if they need not. */
  private held: NextFunction[] | undefined;

  constructor(
    readonly server: Server,
    configuration: Configuration,
    metrics: Metrics,
  ) {
    this.cut = metrics.counter({
      name: 'http_connections_cut_total',
      help:
        'Connections closed at a limit: of all, of an address, of 16 pending requests, after 30 s without reading, or of ' +
        'unread responses',
      labels: { limit: ['max-connections', 'per-address', 'pipelined', 'stalled', 'unread'] },
    });
    metrics.gauge({ name: 'http_connections', help: 'Open connections to the API' }, () => this.connections.size);

    setLimits(server, configuration);
    this.limitConnections(configuration);
    const prefix = pathPrefixOf(configuration.PUBLIC_URL);
    replaceDefaults(server, new UnreadableRequests((socket) => this.connections.get(socket), prefix, metrics));
  }

  private limitConnections({ MAX_CONNECTIONS_PER_ADDRESS, TRUSTED_PROXIES }: Configuration): void {
    const { server } = this;
    server.setTimeout(TIMES.stall, this.endSilent);
    const pausing = setInterval(this.pauseUnread, TIMES.pause).unref();
    server.once('close', () => clearInterval(pausing));
    server.on('drop', () => this.cut.inc({ limit: 'max-connections' }));
    const isWithinLimit = addressLimit(MAX_CONNECTIONS_PER_ADDRESS, TRUSTED_PROXIES);
    server.on('connection', (socket: Socket) => {
      this.accepted += 1;
      if (!isWithinLimit(socket)) {
        this.cut.inc({ limit: 'per-address' });
        socket.destroy();
      }
      this.connections.set(socket, new Set());
      // Node does not listen to errors after an upgrade or CONNECT.
      socket.on('error', () => undefined);
      socket.once('close', () => this.connections.delete(socket));
    });
  }

  /**
   * First middleware. Closes a connection with too many requests, and ignores further ones, as behind a discarded body.
   * Pipelined requests wait for the response before them: only one response of a connection is in memory.
   */
  readonly track: RequestHandler = ({ socket }, response, next) => {
    const pending = this.connections.get(socket);
    if (!socket.writable) {
      return;
    }
    if (!pending) {
      // A probe on the metrics port, which has connections of its own.
      next();
      return;
    }
    if (pending.size === MAX_PENDING) {
      socket.destroy();
      this.cut.inc({ limit: 'pipelined' });
      return;
    }
    if (this.isDraining) {
      if ([...pending].some(({ shouldKeepAlive }) => !shouldKeepAlive)) {
        // An earlier response closes the connection: this request must not run.
        return;
      }
      response.shouldKeepAlive = false;
    }
    const previous = [...pending].at(-1);
    pending.add(response);
    response.once('prefinish', () => {
      if (response.writableLength > 0) this.unread.add(response);
    });
    response.once('close', () => {
      pending.delete(response);
      if (pending.size === 0 && !this.server.listening) {
        socket.destroySoon();
      }
    });
    const begin = () => (this.held ? void this.held.push(next) : next());
    if (previous) {
      afterResponse(previous, socket, begin);
    } else {
      begin();
    }
  };

  /** From now on, the latest response of each connection carries `Connection: close`. Event streams end. */
  closeAfterResponses(): void {
    this.isDraining = true;
    for (const pending of this.connections.values()) {
      const latest = [...pending].at(-1);
      if (latest?.headersSent === false) {
        latest.shouldKeepAlive = false;
      }
    }
    endEventStreams(this.connections.values());
  }

  /** Stops listening, serves the requests of the connections that are open, and resolves when all are closed. */
  async close(): Promise<void> {
    await this.acceptAll();
    // That of HTTP servers also cuts responses that are in transfer.
    const closed = new Promise<void>((resolve) => TcpServer.prototype.close.call(this.server, () => resolve()));
    this.held?.splice(0).forEach((next) => next());
    this.held = undefined;
    const ending = setInterval(() => endEventStreams(this.connections.values()), TIMES.streams);
    const closing = setTimeout(() => this.closeIdle(), TIMES.linger);
    await closed;
    clearInterval(ending);
    clearTimeout(closing);
  }

  /**
   * The operating system resets connections that it has not handed over when the port closes. Holds requests until no client
   * opens another connection, because those that wait for a response do not.
   */
  private async acceptAll(): Promise<void> {
    if (!this.server.listening) {
      return;
    }
    this.held = [];
    for (let count = -1, pauses = 0; count !== this.accepted && pauses < MAX_PAUSES; pauses += 1) {
      count = this.accepted;
      await delay(TIMES.accept);
    }
  }

  /** Closes connections without a request, or with half of one, and those whose client does not read an event stream. */
  private closeIdle(): void {
    for (const [socket, pending] of this.connections) {
      if ([...pending].every(isEventStream)) {
        socket.destroy();
      }
    }
  }

  /** Stops reading from clients that do not read: data that they send would count as progress. */
  private readonly pauseUnread = (): void => {
    for (const socket of this.connections.keys()) {
      if (socket.writableNeedDrain && !socket.isPaused()) {
        socket.pause().once('drain', () => socket.resume());
      }
    }
  };

  /** New connections are subject to `headersTimeout`; a response that is not ready is not the client's fault. */
  private readonly endSilent = (socket: Socket): void => {
    const isStalled = socket.writableLength > 0;
    if (isStalled) {
      this.cut.inc({ limit: 'stalled' });
    }
    if (isStalled || (socket.bytesWritten > 0 && this.connections.get(socket)?.size === 0)) {
      socket.destroy();
    }
  };
}
