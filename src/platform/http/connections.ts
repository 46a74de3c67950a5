import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What is going on on one connection. */
interface Activity {
  /** Answers that are not sent yet. */
  pending: Set<ServerResponse>;
  /** The one of these that was told to be the last on its connection. */
  last: ServerResponse | undefined;
  /** Whether the latest answer was sent before its request had arrived whole. */
  answeredEarly: boolean;
}

/** Requests of one connection that may wait for their responses. Clients that pipeline send a few at a time. */
const MAX_UNANSWERED = 16;

/** How often connections are looked for whose client does not read, in milliseconds. */
const PAUSE_INTERVAL = 5000;

/** Knows of every connection of a server whether a request on it waits for its response, which Node keeps to itself. */
export class Connections {
  private readonly open = new Map<Socket, Activity>();
  private isClosing = false;

  /**
   * @param onPipelined - called when a connection is closed because more than {@link MAX_UNANSWERED} of its requests wait for
   *   their responses
   */
  constructor(
    private readonly server: Server,
    private readonly onPipelined: () => void,
  ) {
    const sweep = setInterval(() => {
      this.open.forEach(pauseUnlessRead);
    }, PAUSE_INTERVAL).unref();
    server.once('close', () => {
      clearInterval(sweep);
    });
    server.on('connection', (socket: Socket) => {
      this.open.set(socket, { pending: new Set(), last: undefined, answeredEarly: false });
      socket.once('close', () => this.open.delete(socket));
    });
    server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
      this.track(request, response);
    });
  }

  /** How many are open. */
  get count(): number {
    return this.open.size;
  }

  /** Whether a request on it waits for its answer. */
  isBusy(socket: Socket): boolean {
    return (this.open.get(socket)?.pending.size ?? 0) > 0;
  }

  /** Whether what arrives on it now belongs to a request that has its answer already. */
  isAnsweredEarly(socket: Socket): boolean {
    return this.open.get(socket)?.answeredEarly ?? false;
  }

  /** From now on every answer tells its client that it is the last one on its connection. */
  closeWhenAnswered(): void {
    this.isClosing = true;
    this.open.forEach(endWithLatest);
  }

  /** Closes every connection on which no response is pending. */
  closeIdle(): void {
    for (const [socket, { pending }] of this.open) {
      if (pending.size === 0) {
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
    if (activity && activity.pending.size === MAX_UNANSWERED) {
      request.socket.destroy();
      this.open.delete(request.socket);
      this.onPipelined();
    } else if (activity) {
      activity.pending.add(response);
      activity.answeredEarly = false;
      if (this.isClosing) {
        endWithLatest(activity);
      }
      response.once('close', () => {
        activity.pending.delete(response);
        activity.answeredEarly = !request.complete;
      });
    }
  }
}

/** Reads nothing more from a client that does not read its response: what it sends would count as progress. */
function pauseUnlessRead(_activity: Activity, socket: Socket): void {
  if (socket.writableNeedDrain && !socket.isPaused()) {
    socket.pause().once('drain', () => {
      socket.resume();
    });
  }
}

/** Middleware that stops requests whose connection is closed: those that arrived in one packet with too many others. */
export function skipClosedConnection(request: IncomingMessage, _response: ServerResponse, next: () => void): void {
  if (!request.socket.destroyed) {
    next();
  }
}

/**
 * Closes a connection behind the answer to the latest request that has arrived on it, and says so there. Requests can follow
 * each other before the first is answered (RFC 9112, section 9.3.2): what was the latest until now is so no more.
 */
function endWithLatest(activity: Activity): void {
  const { last } = activity;
  const latest = [...activity.pending].at(-1);
  if (last && last !== latest && !last.headersSent) {
    last.shouldKeepAlive = true;
    last.removeHeader('Connection');
  }
  if (latest && !latest.headersSent && latest.shouldKeepAlive) {
    latest.shouldKeepAlive = false;
    latest.setHeader('Connection', 'close');
    activity.last = latest;
  }
}
