import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { RequestHandler } from 'express';

/** Requests of one connection that may wait for their responses. Clients that pipeline send a few at a time. */
const MAX_UNANSWERED = 16;

/** How often connections are looked for whose client does not read, in milliseconds. */
const PAUSE_INTERVAL = 5000;

/** The open connections of a server, each with the responses that are not sent yet, which Node does not tell. */
export class Connections {
  private readonly open = new Map<Socket, Set<ServerResponse>>();
  /** Those of which the latest response was sent before its request had arrived whole. */
  private readonly early = new WeakSet<Socket>();
  private isClosing = false;

  /** @param onPipelined - called when a connection is closed because of more than {@link MAX_UNANSWERED} requests */
  constructor(
    server: Server,
    private readonly onPipelined: () => void,
  ) {
    const sweep = setInterval(() => {
      this.open.forEach(pauseUnlessRead);
    }, PAUSE_INTERVAL).unref();
    server.once('close', () => {
      clearInterval(sweep);
    });
    server.on('connection', (socket: Socket) => {
      this.open.set(socket, new Set());
      socket.once('close', () => this.open.delete(socket));
    });
  }

  /** The first middleware: closes a connection with too many requests, and skips those that arrived in one packet with them. */
  readonly track: RequestHandler = (request, response, next) => {
    const { socket } = request;
    const pending = this.open.get(socket);
    if (!pending) {
      return;
    }
    if (pending.size === MAX_UNANSWERED) {
      this.open.delete(socket);
      socket.destroy();
      this.onPipelined();
      return;
    }
    pending.add(response);
    this.early.delete(socket);
    response.once('close', () => {
      pending.delete(response);
      if (!request.complete) this.early.add(socket);
    });
    if (this.isClosing) {
      closeBehindLatest(pending);
    }
    next();
  };

  /** How many are open. */
  get count(): number {
    return this.open.size;
  }

  /** The responses that are not sent yet, in the order of their requests. */
  pendingOn(socket: Socket): ServerResponse[] {
    return [...(this.open.get(socket) ?? [])];
  }

  /** Whether what arrives on it now belongs to a request that has its response. */
  isAnsweredEarly(socket: Socket): boolean {
    return this.early.has(socket);
  }

  /** From now on responses close their connections, those to requests under way too. */
  closeAfterResponses(): void {
    this.isClosing = true;
    this.open.forEach(closeBehindLatest);
  }

  /** Closes connections on which no response is pending. Node's own keeps those on which nothing, or half a request, has arrived. */
  closeIdle(): void {
    for (const [socket, pending] of this.open) {
      if (pending.size === 0) {
        socket.destroy();
      }
    }
  }

  /** Closes all connections, be it in the middle of a response. */
  closeAll(): void {
    for (const socket of this.open.keys()) {
      socket.destroy();
    }
  }
}

/** Closes a connection behind the response to its latest request, and not behind one before it: Node would send no more then. */
function closeBehindLatest(pending: ReadonlySet<ServerResponse>): void {
  const [latest, previous] = [...pending].toReversed();
  if (previous?.getHeader('Connection') === 'close' && !previous.headersSent) {
    previous.setHeader('Connection', 'keep-alive');
  }
  if (latest && !latest.headersSent) {
    latest.setHeader('Connection', 'close');
  }
}

/** Reads nothing more from a client that does not read its response: what it sends would count as progress. */
function pauseUnlessRead(_pending: unknown, socket: Socket): void {
  if (socket.writableNeedDrain && !socket.isPaused()) {
    socket.pause().once('drain', () => {
      socket.resume();
    });
  }
}
