import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Request, RequestHandler } from 'express';
import type { Configuration } from '../config/configuration.js';
import type { Metrics } from '../observability/metrics.js';

/** Maximum pipelined requests of one connection. Real clients pipeline only a few. */
const MAX_PENDING = 16;

/** Milliseconds for a body (at most 64 KiB) to arrive after the headers. */
const BODY_TIME = 15_000;

/** Milliseconds without progress until the connection of a client that does not read its response is closed. */
const STALL_TIMEOUT = 30_000;

/** Milliseconds between two searches for connections whose client does not read. */
const PAUSE_INTERVAL = 5000;

/** Milliseconds for the client to read a response whose request body is not read. */
const LINGER = 1000;

/** What Node does not expose about a connection. */
interface Connection {
  /** Requests without a complete response. */
  pending: number;
  /** The latest request, until it is complete and has its response. */
  latest?: Request | undefined;
}

/** The open connections of a server, and the limits for each. */
export class Connections {
  private readonly open = new Map<Socket, Connection>();
  private readonly cut;
  private isClosing = false;
  private isEnding = false;

  constructor(
    readonly server: Server,
    { KEEP_ALIVE_TIMEOUT, MAX_CONNECTIONS }: Configuration,
    metrics: Metrics,
  ) {
    this.cut = metrics.counter({
      name: 'items_http_connections_cut_total',
      help: 'Connections refused because of MAX_CONNECTIONS, closed with more than 16 pending requests, or closed after 30 s without reading',
      labels: { limit: ['max-connections', 'pipelined', 'stalled'] },
    });
    const help = 'Open connections to the API';
    metrics.gauge({ name: 'items_http_connections', help }, () => this.open.size);

    server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT * 1000;
    // Also applies to idle new connections, which load balancers open in advance.
    server.headersTimeout = (KEEP_ALIVE_TIMEOUT + 1) * 1000;
    server.requestTimeout = server.headersTimeout + BODY_TIME;
    server.setTimeout(STALL_TIMEOUT, this.endSilent);
    const pausing = setInterval(this.pauseUnread, PAUSE_INTERVAL).unref();
    server.once('close', () => clearInterval(pausing));
    server.maxConnections = MAX_CONNECTIONS;
    server.on('drop', () => this.cut.inc({ limit: 'max-connections' }));
    server.on('connection', (socket: Socket) => {
      this.open.set(socket, { pending: 0 });
      socket.once('close', () => this.open.delete(socket));
    });
  }

  /** First middleware. Closes a connection with too many requests, and ignores further requests of the same packet. */
  readonly track: RequestHandler = (request, response, next) => {
    const { socket } = request;
    const connection = this.open.get(socket);
    if (!connection) {
      return;
    }
    if (connection.pending === MAX_PENDING) {
      this.open.delete(socket);
      socket.destroy();
      this.cut.inc({ limit: 'pipelined' });
      return;
    }
    if (this.isClosing) {
      const previous = connection.latest?.res;
      if (previous?.headersSent && !previous.shouldKeepAlive) {
        // The earlier response closes the connection: this request must not run.
        return;
      }
      if (previous && !previous.headersSent) {
        // For a client that pipelines, only the last response closes the connection.
        previous.shouldKeepAlive = true;
      }
      response.shouldKeepAlive = false;
    }
    connection.pending += 1;
    connection.latest = request;
    response.once('close', () => {
      connection.pending -= 1;
      if (connection.pending === 0 && request.complete) {
        connection.latest = undefined;
      }
      if (connection.pending === 0 && this.isEnding) {
        socket.destroySoon();
      }
    });
    next();
  };

  /** Whether a parse error can get a response: only when no other response is pending or partly sent. */
  expectsResponse(socket: Socket): boolean {
    const { pending = 0, latest } = this.open.get(socket) ?? {};
    return !latest || (pending === 1 && !latest.complete && latest.res?.headersSent === false);
  }

  /** From now on, the latest response of each connection carries `Connection: close`. */
  closeAfterResponses(): void {
    this.isClosing = true;
    for (const { latest } of this.open.values()) {
      if (latest?.res && !latest.res.headersSent) {
        latest.res.shouldKeepAlive = false;
      }
    }
  }

  /** Closes each connection once no response is pending. Node's own method keeps those with no or half a request. */
  closeIdle(): void {
    this.isEnding = true;
    for (const [socket, { pending }] of this.open) {
      if (pending === 0) {
        socket.destroy();
      }
    }
  }

  /** Stops reading from clients that do not read: data that they send would count as progress. */
  private readonly pauseUnread = (): void => {
    for (const socket of this.open.keys()) {
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
    if (isStalled || (socket.bytesWritten > 0 && this.open.get(socket)?.pending === 0)) {
      socket.destroy();
    }
  };
}

/** For a request whose body is not read: otherwise Node would read the rest, of any length, to reuse the connection. */
export function closeBehindUnreadBody(request: IncomingMessage, response: ServerResponse): void {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers;
  // For a short body in the same packet, Node sets `complete` only after the response.
  if (request.complete || (coding === undefined && request.readableLength === Number(length))) {
    return;
  }
  response.setHeader('Connection', 'close');
  const { socket } = request;
  // Node discards a body that was never read: this marks it as read without reading beyond the buffer.
  request.read(0);
  // Node calls this after the last response of a connection.
  socket.destroySoon = () => {
    request.pause();
    closeUnread(socket);
  };
}

/** Closes a connection with unread data. Closing at once would reset it, and lose the response in transit. */
export function closeUnread(socket: Socket): void {
  socket.pause();
  socket.end();
  setTimeout(() => socket.destroy(), LINGER).unref();
}
