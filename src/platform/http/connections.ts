import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What is going on on one connection. */
interface Activity {
  /** Requests that are not answered yet. */
  pending: number;
  /** Whether the latest answer was sent before its request had arrived whole. */
  answeredEarly: boolean;
}

/** Knows of every connection of a server whether somebody waits for an answer on it, which Node keeps to itself. */
export class Connections {
  private readonly open = new Map<Socket, Activity>();

  constructor(private readonly server: Server) {
    server.on('connection', (socket: Socket) => {
      this.open.set(socket, { pending: 0, answeredEarly: false });
      socket.once('close', () => this.open.delete(socket));
    });
    server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
      this.track(request, response);
    });
  }

  /** Whether a request on it waits for its answer. */
  isBusy(socket: Socket): boolean {
    return (this.open.get(socket)?.pending ?? 0) > 0;
  }

  /** Whether what arrives on it now belongs to a request that has its answer already. */
  isAnsweredEarly(socket: Socket): boolean {
    return this.open.get(socket)?.answeredEarly ?? false;
  }

  /** Closes every connection on which nobody waits for an answer. */
  closeIdle(): void {
    for (const [socket, { pending }] of this.open) {
      if (pending === 0) {
        socket.destroy();
      }
    }
  }

  /** Calls back once the server has closed, at once if it does not listen. */
  whenClosed(callback: () => void): void {
    if (this.server.listening) {
      this.server.once('close', callback);
    } else {
      callback();
    }
  }

  /** Closes every connection, be it in the middle of an answer. */
  closeAll(): void {
    for (const socket of this.open.keys()) {
      socket.destroy();
    }
  }

  private track(request: IncomingMessage, response: ServerResponse): void {
    const activity = this.open.get(request.socket);
    if (activity) {
      activity.pending += 1;
      activity.answeredEarly = false;
      response.once('close', () => {
        activity.pending -= 1;
        activity.answeredEarly = !request.complete;
      });
    }
  }
}
