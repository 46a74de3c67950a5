import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { RequestHandler } from 'express';

/** Requests of one connection that may wait for their responses. Clients that pipeline send a few at a time. */
const MAX_UNANSWERED = 16;

/** The open connections of a server, each with the responses that are not sent yet, which Node does not tell. */
export class Connections {
  private readonly open = new Map<Socket, Set<ServerResponse>>();
  private isClosing = false;

  /** @param onPipelined - called when a connection is closed because of more than {@link MAX_UNANSWERED} requests */
  constructor(
    server: Server,
    private readonly onPipelined: () => void,
  ) {
    server.on('connection', (socket: Socket) => {
      this.open.set(socket, new Set());
      socket.once('close', () => this.open.delete(socket));
    });
  }

  /** The first middleware: closes a connection with too many requests, and skips those that arrived in one packet with them. */
  readonly track: RequestHandler = ({ socket }, response, next) => {
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
    response.once('close', () => pending.delete(response));
    if (this.isClosing) {
      response.setHeader('Connection', 'close');
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

  /** From now on responses close their connections, those to requests under way too. */
  closeAfterResponses(): void {
    this.isClosing = true;
    for (const response of [...this.open.values()].flatMap((pending) => [...pending].slice(-1))) {
      if (!response.headersSent) {
        response.setHeader('Connection', 'close');
      }
    }
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
