import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Request, RequestHandler } from 'express';
import type { Configuration } from '../config/configuration.js';
import type { Metrics } from '../observability/metrics.js';

/** Requests of one connection that may wait for their responses. Clients that pipeline send a few at a time. */
const MAX_PENDING = 16;

/** How much longer a request may take to arrive whole than its headers may, in milliseconds: its body has 64 KiB at most. */
const BODY_TIME = 15_000;

/** How long a client may read nothing of its response before its connection is closed, in milliseconds. */
const STALL_TIMEOUT = 30_000;

/** How often connections are looked for whose client does not read, in milliseconds. */
const PAUSE_INTERVAL = 5000;

/** How long a client has to read a response to a request that is not read, in milliseconds. */
const LINGER = 1000;

/** What Node does not tell of an open connection. */
interface Connection {
  /** How many requests have no complete response. */
  pending: number;
  /** The latest request, until it has arrived whole and has its response. */
  latest?: Request | undefined;
}

/** The open connections of a server, and what one client may take of it. */
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
      help: 'Connections refused at MAX_CONNECTIONS, closed with more than 16 requests unanswered, or closed because nothing was read for 30 s',
      labels: { limit: ['max-connections', 'pipelined', 'stalled'] },
    });
    const help = 'Connections that clients have open to the API';
    metrics.gauge({ name: 'items_http_connections', help }, () => this.open.size);

    server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT * 1000;
    // Also counted from the start of a connection, which load balancers may open before they have a request for it.
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

  /** The first middleware: closes a connection with too many requests, and skips those that arrived in one packet with them. */
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
        // Its response closes the connection: this request must not be carried out.
        return;
      }
      if (previous && !previous.headersSent) {
        // Of a client that does not wait for its responses, the last one closes the connection.
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

  /** Whether an error in what arrives on it can have a response: one that follows those to earlier requests, and is the only one. */
  expectsResponse(socket: Socket): boolean {
    const { pending = 0, latest } = this.open.get(socket) ?? {};
    return !latest || (pending === 1 && !latest.complete && latest.res?.headersSent === false);
  }

  /** From now on each connection ends with its latest response, which says `Connection: close`. */
  closeAfterResponses(): void {
    this.isClosing = true;
    for (const { latest } of this.open.values()) {
      if (latest?.res && !latest.res.headersSent) {
        latest.res.shouldKeepAlive = false;
      }
    }
  }

  /** Closes each connection once no response is pending. Node's own keeps those on which nothing, or half a request, has arrived. */
  closeIdle(): void {
    this.isEnding = true;
    for (const [socket, { pending }] of this.open) {
      if (pending === 0) {
        socket.destroy();
      }
    }
  }

  /** Reads nothing more from clients that do not read their responses: what they send would count as progress. */
  private readonly pauseUnread = (): void => {
    for (const socket of this.open.keys()) {
      if (socket.writableNeedDrain && !socket.isPaused()) {
        socket.pause().once('drain', () => socket.resume());
      }
    }
  };

  /** A new connection has `headersTimeout`, and a response that is not ready yet is not the client's fault. */
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

/**
 * Prepares the response to a request whose body has not been read to its end: `Connection: close`, no more of it is read, and the
 * connection is cut a second later. Node would read the rest, however long it is, to use the connection again.
 */
export function closeBehindUnreadBody(request: IncomingMessage, response: ServerResponse): void {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers;
  // `complete` is set after the response when a short body arrives in one packet with its head.
  if (request.complete || (coding === undefined && request.readableLength === Number(length))) {
    return;
  }
  response.setHeader('Connection', 'close');
  const { socket } = request;
  // Node discards a body of which nothing was read. This reads what its buffer holds, and no more.
  request.read(0);
  // Node calls this behind the last response of a connection.
  socket.destroySoon = () => {
    request.pause();
    closeUnread(socket);
  };
}

/** Closes a connection on which data may still arrive. It is not read: closing at once would lose the response on its way. */
export function closeUnread(socket: Socket): void {
  socket.pause();
  socket.end();
  setTimeout(() => socket.destroy(), LINGER).unref();
}
