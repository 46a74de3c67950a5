import { randomUUID } from 'node:crypto';
import { type Server, STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import type { Configuration } from '../config/configuration.js';
import type { Metrics } from '../observability/metrics.js';
import { Connections } from './connections.js';
import { badRequest, headerFieldsTooLarge, requestTimeout } from './http-problem-types.js';
import { originForm } from './origin-form.js';
import { Problem } from './problem.js';
import { PROBLEM_MEDIA_TYPE, problemJson } from './problem-body.js';
import type { ProblemType } from './problem-type.js';
import { closeUnread } from './unread-body.js';

const typeByParserCode: Readonly<Record<string, ProblemType>> = {
  ERR_HTTP_REQUEST_TIMEOUT: requestTimeout,
  HPE_HEADER_OVERFLOW: headerFieldsTooLarge,
};

/** How much longer a request may take to arrive whole than its headers may, in milliseconds: its body has 64 KiB at most. */
const BODY_TIME = 15_000;

/** How long a client may read nothing of its response before its connection is closed, in milliseconds. */
const STALL_TIMEOUT = 30_000;

/** Least time between two log lines about `MAX_CONNECTIONS`, in milliseconds. */
const LOG_INTERVAL = 60_000;

/** Why the service closed, or did not take, a connection: a label of a metric. */
const LIMITS = ['max-connections', 'pipelined', 'stalled'] as const;

/** The client hung up, in the middle of a request perhaps. */
const CLIENT_GONE: ReadonlySet<string | undefined> = new Set(['ECONNRESET', 'EPIPE', 'HPE_INVALID_EOF_STATE']);

/**
 * Settles how the HTTP server itself behaves, before and beside the application: time-outs, limits on what one client may take,
 * and answers to what never becomes a request.
 *
 * @returns what is known of its connections
 */
export function configureHttpServer(
  server: Server,
  { KEEP_ALIVE_TIMEOUT, MAX_CONNECTIONS }: Configuration,
  metrics: Metrics,
): Connections {
  const logger = new Logger('HttpServer');
  const cut = metrics.counter({
    name: 'items_http_connections_cut_total',
    help: 'Connections refused at MAX_CONNECTIONS, closed with more than 16 requests unanswered, or closed because nothing was read for 30 s',
    labels: { limit: LIMITS },
  });
  const connections = new Connections(server, () => cut.inc({ limit: 'pipelined' }));
  metrics.gauge(
    { name: 'items_http_connections', help: 'Connections that clients have open to the API' },
    () => connections.count,
  );
  const unreadable = metrics.counter({
    name: 'items_http_unreadable_requests_total',
    help: 'What was answered, and never became a request: broken HTTP, too large headers, too slow a sender',
    labels: { status: ['400', '408', '431'] },
  });
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT * 1000;
  // Also counted from the start of a connection, which load balancers may open before they have a request for it. It bounds
  // what a slow or endless sender can hold open.
  server.headersTimeout = (KEEP_ALIVE_TIMEOUT + 1) * 1000;
  server.requestTimeout = server.headersTimeout + BODY_TIME;
  server.setTimeout(STALL_TIMEOUT, (socket) => {
    // A new connection has `headersTimeout`, and a response that is not ready yet is not the client's fault.
    const isNew = socket.bytesWritten === 0;
    const isServed = connections.isBusy(socket) && socket.writableLength === 0;
    if (!isNew && !isServed) {
      if (socket.writableLength > 0) {
        cut.inc({ limit: 'stalled' });
      }
      socket.destroy();
    }
  });
  let loggedAt = -Infinity;
  server.maxConnections = MAX_CONNECTIONS;
  server.on('drop', () => {
    cut.inc({ limit: 'max-connections' });
    if (performance.now() - loggedAt > LOG_INTERVAL) {
      loggedAt = performance.now();
      logger.warn(`MAX_CONNECTIONS (${MAX_CONNECTIONS}) is reached: further connections are closed at once.`);
    }
  });
  // Node's types know these only as options. It would answer a missing Host header with an empty body, and not answer at
  // all a client that has sent its request and closed its half of the connection.
  Object.assign(server, { requireHostHeader: false, httpAllowHalfOpen: true });

  server.prependListener('request', (request: IncomingMessage) => {
    request.url = originForm(request.url ?? '');
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const { _httpMessage: pending } = socket as Socket & { _httpMessage?: ServerResponse | null };
    // What follows a request that is complete must not take the place of its answer, nor come after one.
    const isOfPending = pending && !pending.headersSent && !pending.req.complete;
    if (CLIENT_GONE.has(error.code) || !socket.writable || connections.isAnsweredEarly(socket) || (pending && !isOfPending)) {
      socket.destroy();
      return;
    }
    const type = typeByParserCode[error.code ?? ''] ?? badRequest;
    unreadable.inc({ status: String(type.status) as '400' });
    refuse(socket, new Problem(type, 'The request could not be read.'), logger);
  });
  server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    // Node leaves the connection, and its errors, to this listener.
    socket.on('error', () => socket.destroy());
    if (connections.isBusy(socket)) {
      socket.destroy();
      return;
    }
    unreadable.inc({ status: '400' });
    refuse(socket, new Problem(badRequest, 'This is no proxy.'), logger);
  });

  // The body is asked for only when it is read: a client that is refused need not send it.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
  // Any other expectation may be ignored (RFC 9110, section 10.1.1).
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    delete request.headers.expect;
    server.emit('request', request, response);
  });
  return connections;
}

/** Answers a problem on a connection that has no response object. */
function refuse(socket: Socket, problem: Problem, logger: Logger): void {
  const { status } = problem.type;
  const requestId = randomUUID();
  const body = problemJson(problem, '/', requestId);
  logger.log({ msg: 'request refused', requestId, status, type: problem.type.name });
  const headers = {
    'Content-Type': PROBLEM_MEDIA_TYPE,
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Request-Id': requestId,
    Connection: 'close',
    ...problem.headers,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`);
  closeUnread(socket);
}
