import { AsyncResource } from 'node:async_hooks';
import { existsSync, readFileSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import type { NextFunction, RequestHandler, Response } from 'express';
import { BODY_TIME } from '../bodies/read-body.js';
import type { Configuration } from '../config/configuration.js';
import type { Metrics } from '../observability/metrics.js';
import { addressLimit } from './address-limit.js';
import { normalizeTarget } from './express.js';
import { unreadLimit } from './unread-responses.js';
import { rejectUnreadable } from './unreadable-requests.js';

/** Maximum pipelined requests of one connection. Real clients pipeline only a few. */
const MAX_PENDING = 16;

/** Milliseconds without progress after which a client that does not read is disconnected, and between checks of all. */
const STALL = 30_000;
const PAUSE = 5000;

/** Limits each connection, and sends problems for errors that Node and Express would handle themselves, before any guard. */
export class HttpConnections {
  /** Open connections with their responses that are not complete, the oldest first. */
  readonly connections = new Map<Socket, Response[]>();
  /** Number of connections since the start. */
  accepted = 0;
  /** Held requests, which continue when the port is closed; undefined while none has to wait. */
  held: NextFunction[] | undefined;
  /** Whether the shutdown has begun, in which each connection is closed after its response. */
  isDraining = false;
  private readonly cut;
  private readonly addUnread = unreadLimit(() => this.cut.inc({ limit: 'unread' }));

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
    this.limitConnections(configuration);
    replaceDefaults(server);
    rejectUnreadable(server, this.connections, configuration, metrics);
  }

  private limitConnections(configuration: Configuration): void {
    const { server } = this;
    const { KEEP_ALIVE_TIMEOUT, MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS, TRUSTED_PROXIES } = configuration;
    server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT * 1000;
    // Also applies to idle new connections, which load balancers open in advance.
    server.headersTimeout = (KEEP_ALIVE_TIMEOUT + 1) * 1000;
    server.requestTimeout = server.headersTimeout + BODY_TIME;
    server.maxConnections = withinOpenFiles(MAX_CONNECTIONS);
    server.setTimeout(STALL, this.endSilent);
    const pausing = setInterval(this.pauseUnread, PAUSE).unref();
    server.once('close', () => clearInterval(pausing));
    server.on('drop', () => this.cut.inc({ limit: 'max-connections' }));
    const isWithinLimit = addressLimit(MAX_CONNECTIONS_PER_ADDRESS, TRUSTED_PROXIES);
    server.on('connection', (socket: Socket) => {
      this.accepted += 1;
      if (!isWithinLimit(socket)) {
        this.cut.inc({ limit: 'per-address' });
        socket.destroy();
      }
      this.connections.set(socket, []);
      // Node does not listen to errors after an upgrade or CONNECT.
      socket.on('error', () => undefined);
      socket.once('close', () => this.connections.delete(socket));
    });
  }

  /**
   * First middleware. Closes a connection with too many pending requests, and ignores requests of a connection that is being
   * closed. Pipelined requests wait for the response before them: only one response of a connection is in memory.
   */
  readonly track: RequestHandler = ({ socket, httpVersion, headers }, response, next) => {
    const pending = this.connections.get(socket);
    const isClosing = this.isDraining && pending?.some(({ shouldKeepAlive }) => !shouldKeepAlive);
    if (!socket.writable || isClosing) {
      // An earlier response closes the connection: this request must not run.
      return;
    }
    if (!pending) {
      // A probe on the metrics port, which has connections of its own.
      next();
      return;
    }
    if (pending.length === MAX_PENDING) {
      socket.destroy();
      this.cut.inc({ limit: 'pipelined' });
      return;
    }
    // Proxies of HTTP/1.0 do not know where such a body ends (RFC 9112, section 6.1).
    if (this.isDraining || (httpVersion === '1.0' && headers['transfer-encoding'] !== undefined)) {
      response.shouldKeepAlive = false;
    }
    const previous = pending.at(-1);
    pending.push(response);
    response.once('prefinish', () => {
      if (response.writableLength > 0) this.addUnread(response);
    });
    response.once('close', () => {
      pending.splice(pending.indexOf(response), 1);
      if (pending.length === 0 && !this.server.listening) {
        socket.destroySoon();
      }
    });
    const begin = () => (this.held ? void this.held.push(next) : next());
    if (!previous) {
      begin();
      return;
    }
    const bound = AsyncResource.bind(begin);
    previous.once('close', () => (socket.writable ? bound() : undefined));
  };

  /** Stops reading from clients that do not read their responses: data that they send would count as progress. */
  private readonly pauseUnread = (): void => {
    for (const socket of this.connections.keys()) {
      if (socket.writableNeedDrain && !socket.isPaused()) {
        socket.pause().once('drain', () => socket.resume());
      }
    }
  };

  /** Closes stalled and idle connections. `headersTimeout` limits new ones; those that wait for a response stay open. */
  private readonly endSilent = (socket: Socket): void => {
    const isStalled = socket.writableLength > 0;
    if (isStalled) {
      this.cut.inc({ limit: 'stalled' });
    }
    if (isStalled || (socket.bytesWritten > 0 && this.connections.get(socket)?.length === 0)) {
      socket.destroy();
    }
  };
}

/** Clients may take three quarters of the open files: probes, the database and Redis need the rest. */
function withinOpenFiles(connections: number): number {
  const limits = existsSync('/proc/self/limits') ? readFileSync('/proc/self/limits', 'utf8') : '';
  const most = Math.floor(Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity) * 0.75);
  if (connections > most) {
    new Logger('Connections').warn(`MAX_CONNECTIONS is ${most}: of the open files (ulimit -n), clients get three quarters`);
  }
  return Math.min(connections, most);
}

/** Turns off what Node would do itself before any middleware, such as to send responses that are no problems. */
function replaceDefaults(server: Server): void {
  // Node would respond to a missing Host and to an unknown expectation, and drop a second Host. `100 Continue` is sent only
  // when the body is read, so that refused clients do not send one. Upgrades to HTTP/2 are ignored, also beside gateways.
  Object.assign(server, {
    requireHostHeader: false,
    joinDuplicateHeaders: true,
    shouldUpgradeCallback: ({ headers: { upgrade = '' } }: IncomingMessage) =>
      server.listenerCount('upgrade') > 0 && upgrade.toLowerCase() === 'websocket',
  });
  for (const event of ['checkContinue', 'checkExpectation']) {
    server.on(event, (request: IncomingMessage, response: ServerResponse) => server.emit('request', request, response));
  }
  server.prependListener('request', normalizeTarget);
}
