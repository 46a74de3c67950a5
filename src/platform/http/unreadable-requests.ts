import { randomUUID } from 'node:crypto';
import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import { requestsWithOwnTime } from '../bodies/read-body.js';
import type { Configuration } from '../config/configuration.js';
import { pathPrefixOf } from '../config/origins.js';
import type { Metrics } from '../observability/metrics.js';
import { badRequest, headerFieldsTooLarge, type ProblemType, requestTimeout } from '../problems/problem-types.js';
import { Problem, PROBLEM_MEDIA_TYPE, problemJson } from '../problems/problem.js';

/** Milliseconds for the client to read a response whose request is not read to its end. */
const LINGER = 1000;

/** By code of Node's errors. */
const UNREADABLE: Readonly<Record<string, ProblemType>> = {
  ERR_HTTP_REQUEST_TIMEOUT: requestTimeout,
  HPE_HEADER_OVERFLOW: headerFieldsTooLarge,
};

/** Sends problems for what Node cannot read as a request, before any middleware. */
export class UnreadableRequests {
  private readonly logger = new Logger('HttpServer');
  private readonly prefix;
  private readonly rejections;

  /** @param pending - the responses of each connection that are not complete, the oldest first */
  constructor(
    private readonly pending: ReadonlyMap<Socket, readonly ServerResponse[]>,
    { PUBLIC_URL }: Configuration,
    metrics: Metrics,
  ) {
    this.prefix = pathPrefixOf(PUBLIC_URL);
    this.rejections = metrics.counter({
      name: 'http_unreadable_requests_total',
      help: 'Rejected input that is not a readable request: malformed HTTP, headers too large or too slow',
      labels: { status: ['400', '408', '431'] },
    });
  }

  listen(server: Server): void {
    server.on('clientError', this.handle);
    server.on('connect', (_request, socket: Socket) => {
      this.reject(socket, badRequest, 'CONNECT is for proxies, which this service is not.');
    });
  }

  private readonly handle = ({ code = '' }: NodeJS.ErrnoException, socket: Socket): void => {
    const type = UNREADABLE[code] ?? badRequest;
    if (type === requestTimeout && this.pending.get(socket)?.some(({ req }) => requestsWithOwnTime.has(req))) {
      return;
    }
    if (code === 'HPE_INVALID_EOF_STATE') {
      // The client has gone.
      socket.destroy();
    } else {
      this.reject(socket, type, type.example ?? type.title);
    }
  };

  /** Sends a problem, and closes the connection; behind complete requests, only closes it after their responses. */
  private reject(socket: Socket, type: ProblemType, detail: string): void {
    const pending = this.pending.get(socket) ?? [];
    const latest = pending.at(-1);
    if (socket.writable && latest && pending.every(({ req }) => req.complete)) {
      closeAfter(latest, socket);
      return;
    }
    // A request without its end follows others, or its response is partly sent.
    const isUnexpected = pending.some(({ headersSent, req }) => headersSent || req.complete);
    if (!socket.writable || isUnexpected) {
      socket.destroy();
      return;
    }
    const { status } = type;
    const requestId = randomUUID();
    this.rejections.inc({ status: String(status) });
    this.logger.log({ msg: 'request refused', requestId, status, type: type.name });
    const body = problemJson(new Problem(type, detail), '/', requestId, this.prefix);
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
      `Date: ${new Date().toUTCString()}`,
      `Content-Type: ${PROBLEM_MEDIA_TYPE}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${requestId}`,
      'Connection: close',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
    closeUnread(socket);
  }
}

/** Reads no further, and closes the connection after a response (RFC 9112, section 9.6). */
function closeAfter(latest: ServerResponse, socket: Socket): void {
  socket.pause();
  // Node calls this after a response that closes the connection.
  socket.destroySoon = () => closeUnread(socket);
  if (latest.headersSent) {
    latest.once('close', () => closeUnread(socket));
  } else {
    latest.shouldKeepAlive = false;
  }
}

/** Reads no further, and closes the connection. */
function closeUnread(socket: Socket): void {
  socket.pause();
  closeLater(socket);
}

/** Ends a connection with unread data. Closing it at once would reset it, and lose the response in transit. */
export function closeLater(socket: Socket): void {
  socket.end();
  setTimeout(() => socket.destroy(), LINGER).unref();
}
