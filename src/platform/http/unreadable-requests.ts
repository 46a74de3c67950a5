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

/** Milliseconds for the client to send a request that is not read to its end, and then to read the response. */
export const LINGER = 1000;

/** Problem types by the code of Node's error; all other codes are a bad request. */
const UNREADABLE: Readonly<Record<string, ProblemType>> = {
  ERR_HTTP_REQUEST_TIMEOUT: requestTimeout,
  HPE_HEADER_OVERFLOW: headerFieldsTooLarge,
};

/** Sends problems for what Node cannot read as a request. @param pending - incomplete responses, the oldest first */
export function rejectUnreadable(
  server: Server,
  pending: ReadonlyMap<Socket, readonly ServerResponse[]>,
  { PUBLIC_URL }: Configuration,
  metrics: Metrics,
): void {
  const logger = new Logger('HttpServer');
  const rejections = metrics.counter({
    name: 'http_unreadable_requests_total',
    help: 'Rejected input that is not a readable request: malformed HTTP, headers too large or too slow',
    labels: { status: ['400', '408', '431'] },
  });
  const reject = (socket: Socket, type: ProblemType, detail = type.example ?? type.title) => {
    if (!closeBehind(pending.get(socket) ?? [], socket)) {
      const requestId = randomUUID();
      rejections.inc({ status: String(type.status) });
      logger.log({ msg: 'request refused', requestId, status: type.status, type: type.name });
      socket.write(responseText(new Problem(type, detail), requestId, pathPrefixOf(PUBLIC_URL)));
      closeLingering(socket.pause());
    }
  };
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket: Socket) => {
    const type = UNREADABLE[code] ?? badRequest;
    if (code === 'HPE_INVALID_EOF_STATE') {
      // The client has disconnected within a request.
      socket.destroy();
    } else if (type !== requestTimeout || !pending.get(socket)?.some(({ req }) => requestsWithOwnTime.has(req))) {
      reject(socket, type);
    }
  });
  server.on('connect', (_request, socket: Socket) => {
    reject(socket, badRequest, 'CONNECT is for proxies, which this service is not.');
  });
}

/** Closes a connection after the responses of complete requests, for which a problem would be taken. @returns if it does */
function closeBehind(pending: readonly ServerResponse[], socket: Socket): boolean {
  const latest = pending.findLast(({ req }) => req.complete);
  if (socket.writable && latest) {
    closeAfter(latest, socket);
    return true;
  }
  // A problem would be taken for the rest of a response that is partly sent.
  const isUnexpected = !socket.writable || pending.some(({ headersSent }) => headersSent);
  if (isUnexpected) {
    socket.destroy();
  }
  return isUnexpected;
}

function responseText(problem: Problem, requestId: string, prefix: string): string {
  const { status } = problem.type;
  const body = problemJson(problem, '/', requestId, prefix);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    `Date: ${new Date().toUTCString()}`,
    `Content-Type: ${PROBLEM_MEDIA_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

/** Reads no further, and closes the connection after a response (RFC 9112, section 9.6). */
function closeAfter(latest: ServerResponse, socket: Socket): void {
  socket.pause();
  // Node calls this after a response that closes the connection.
  socket.destroySoon = () => closeLingering(socket.pause());
  if (latest.headersSent) {
    // Before a request without its end, which waits for this, begins.
    latest.prependOnceListener('close', () => closeLingering(socket.pause()));
  } else {
    latest.shouldKeepAlive = false;
  }
}

/**
 * Ends a connection with unread data. Closing it at once would reset it, and lose the response in transit.
 *
 * @param time - milliseconds that the client has to end the connection as well
 */
export function closeLingering(socket: Socket, time = LINGER): void {
  socket.end();
  setTimeout(() => socket.destroy(), time).unref();
}
