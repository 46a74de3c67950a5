import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import type { Configuration } from '../config/configuration.js';
import type { Metrics } from '../observability/metrics.js';
import { Connections } from './connections.js';
import { badRequest, headerFieldsTooLarge, requestTimeout } from './http-problem-types.js';
import { isDecodable } from './percent-encoding.js';
import { Problem, PROBLEM_MEDIA_TYPE, problemJson } from './problem.js';
import { closeUnread } from './unread-body.js';

/** How much longer a request may take to arrive whole than its headers may, in milliseconds: its body has 64 KiB at most. */
const BODY_TIME = 15_000;

/** How long a client may read nothing of its response before its connection is closed, in milliseconds. */
const STALL_TIMEOUT = 30_000;

/** The client hung up, in the middle of a request perhaps. */
const CLIENT_GONE: ReadonlySet<string | undefined> = new Set(['ECONNRESET', 'EPIPE', 'HPE_INVALID_EOF_STATE']);

/**
 * Sets time-outs and limits on what one client may take, and what the server responds to what never becomes a request.
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
    labels: { limit: ['max-connections', 'pipelined', 'stalled'] },
  });
  const unreadable = metrics.counter({
    name: 'items_http_unreadable_requests_total',
    help: 'What was answered, and never became a request: broken HTTP, too large headers, too slow a sender',
    labels: { status: ['400', '408', '431'] },
  });
  const connections = new Connections(server, () => cut.inc({ limit: 'pipelined' }));
  metrics.gauge(
    { name: 'items_http_connections', help: 'Connections that clients have open to the API' },
    () => connections.count,
  );

  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT * 1000;
  // Also counted from the start of a connection, which load balancers may open before they have a request for it.
  server.headersTimeout = (KEEP_ALIVE_TIMEOUT + 1) * 1000;
  server.requestTimeout = server.headersTimeout + BODY_TIME;
  server.setTimeout(STALL_TIMEOUT, (socket) => {
    const isStalled = socket.writableLength > 0;
    // A new connection has `headersTimeout`, and a response that is not ready yet is not the client's fault.
    const isIdle = socket.bytesWritten > 0 && connections.pendingOn(socket).length === 0;
    if (isStalled) {
      cut.inc({ limit: 'stalled' });
    }
    if (isStalled || isIdle) {
      socket.destroy();
    }
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.on('drop', () => {
    cut.inc({ limit: 'max-connections' });
  });

  // Node would respond to a missing Host, and to an expectation that it does not know, without a problem. A body that waits for
  // `100 Continue` is asked for when it is read: a client that is refused need not send it.
  Object.assign(server, { requireHostHeader: false });
  for (const event of ['checkContinue', 'checkExpectation']) {
    server.on(event, (request: IncomingMessage, response: ServerResponse) => server.emit('request', request, response));
  }
  // Express would respond by itself, before the guards, to a target without a path, such as `http://host` or `*`, and to a path that
  // it cannot decode. With its percent signs encoded, such a path is not found.
  server.prependListener('request', (request: IncomingMessage) => {
    const { url = '' } = request;
    const target = url.startsWith('/') ? url : `/${url.replace(/^https?:\/\/[^/?]*\/?/i, '')}`;
    const [path = ''] = target.split('?', 1);
    request.url = isDecodable(path) ? target : path.replaceAll('%', '%25') + target.slice(path.length);
  });
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket: Socket) => {
    const [pending, next] = connections.pendingOn(socket);
    // What follows a whole request must not take the place of its response, nor come after the start of one.
    const isLate = pending ? pending.headersSent || pending.req.complete || next : connections.isAnsweredEarly(socket);
    if (CLIENT_GONE.has(code) || !socket.writable || isLate) {
      socket.destroy();
      return;
    }
    const type =
      code === 'ERR_HTTP_REQUEST_TIMEOUT' ? requestTimeout : code === 'HPE_HEADER_OVERFLOW' ? headerFieldsTooLarge : badRequest;
    const { status } = type;
    const requestId = randomUUID();
    unreadable.inc({ status: String(status) as '400' });
    logger.log({ msg: 'request refused', requestId, status, type: type.name });
    const body = problemJson(new Problem(type, 'The request could not be read.'), '/', requestId);
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
      `Content-Type: ${PROBLEM_MEDIA_TYPE}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${requestId}`,
      'Connection: close',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
    closeUnread(socket);
  });
  return connections;
}
