import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import type { Metrics } from '../observability/metrics.js';
import { closeUnread, type Connections } from './connections.js';
import { badRequest, headerFieldsTooLarge, requestTimeout } from './http-problem-types.js';
import { isDecodable } from './percent-encoding.js';
import { Problem, PROBLEM_MEDIA_TYPE, problemJson } from './problem.js';

/** Sends problems for errors that Node and Express would handle themselves, before any guard. */
export function configureHttpServer(server: Server, connections: Connections, metrics: Metrics): void {
  const logger = new Logger('HttpServer');
  const unreadable = metrics.counter({
    name: 'items_http_unreadable_requests_total',
    help: 'Rejected input that is not a readable request: malformed HTTP, headers too large or too slow',
    labels: { status: ['400', '408', '431'] },
  });

  // Node would respond without a problem to a missing Host and to an unknown expectation. `100 Continue` is sent only when the body
  // is read, so that refused clients do not send it.
  Object.assign(server, { requireHostHeader: false });
  for (const event of ['checkContinue', 'checkExpectation']) {
    server.on(event, (request: IncomingMessage, response: ServerResponse) => server.emit('request', request, response));
  }
  // Express would respond before the guards to a target without a path (`http://host`, `*`) or with a path that it cannot decode.
  // With encoded percent signs, such a path is not found.
  server.prependListener('request', (request: IncomingMessage) => {
    const { url = '' } = request;
    const target = url.startsWith('/') ? url : `/${url.replace(/^https?:\/\/[^/?]*\/?/i, '')}`;
    const [path = ''] = target.split('?', 1);
    request.url = isDecodable(path) ? target : path.replaceAll('%', '%25') + target.slice(path.length);
  });
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket: Socket) => {
    // The client has gone, or the error follows a request whose response is still pending.
    if (code === 'HPE_INVALID_EOF_STATE' || !socket.writable || !connections.expectsResponse(socket)) {
      socket.destroy();
      return;
    }
    const type =
      code === 'ERR_HTTP_REQUEST_TIMEOUT' ? requestTimeout : code === 'HPE_HEADER_OVERFLOW' ? headerFieldsTooLarge : badRequest;
    const { status } = type;
    const requestId = randomUUID();
    unreadable.inc({ status: String(status) });
    logger.log({ msg: 'request refused', requestId, status, type: type.name });
    const body = problemJson(new Problem(type, type.example ?? type.title), '/', requestId);
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
}
