import { randomUUID } from 'node:crypto';
import { type Server, STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { Logger } from '@nestjs/common';
import { badRequest, headerFieldsTooLarge, methodNotAllowed, requestTimeout } from './http-problem-types.js';
import { Problem } from './problem.js';
import { PROBLEM_MEDIA_TYPE, problemBody } from './problem-body.js';
import type { ProblemType } from './problem-type.js';

const typeByParserCode: Readonly<Record<string, ProblemType>> = {
  ERR_HTTP_REQUEST_TIMEOUT: requestTimeout,
  HPE_HEADER_OVERFLOW: headerFieldsTooLarge,
};

/**
 * Settles how the HTTP server itself behaves, before and beside the application: time-outs, and answers to what never
 * becomes a request.
 */
export function configureHttpServer(server: Server): void {
  const logger = new Logger('HttpServer');
  // A body of 64 KiB needs no longer; it bounds what a slow or endless sender can hold open.
  server.requestTimeout = 30_000;
  server.headersTimeout = 15_000;
  // Longer than the idle time-out of common load balancers (60 s), so that they close first.
  server.keepAliveTimeout = 65_000;
  // Node would answer a missing Host header with an empty body; its types know this only as an option.
  Object.assign(server, { requireHostHeader: false });

  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // An answer under way on this connection must not be mixed with another.
    const { _httpMessage: underWay } = socket as Duplex & { _httpMessage?: ServerResponse | null };
    if (error.code === 'ECONNRESET' || !socket.writable || underWay?.headersSent) {
      socket.destroy();
      return;
    }
    const type = typeByParserCode[error.code ?? ''] ?? badRequest;
    refuse(socket, new Problem(type, 'The request could not be read.'), logger);
  });
  server.on('connect', (_request, socket) => {
    refuse(socket, new Problem(methodNotAllowed, 'This is no proxy.', { headers: { Allow: 'GET, HEAD, POST' } }), logger);
  });

  // The body is asked for only once somebody wants to read it: whoever is refused need not send it.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    response.setHeader('Connection', 'close');
    server.emit('request', request, response);
  });
  // Any other expectation may be ignored (RFC 9110, section 10.1.1).
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    delete request.headers.expect;
    server.emit('request', request, response);
  });
}

/** Answers a problem on a connection that has no response object. */
function refuse(socket: Duplex, problem: Problem, logger: Logger): void {
  const { status } = problem.type;
  const requestId = randomUUID();
  const body = JSON.stringify(problemBody(problem, '/', requestId));
  logger.log({ msg: 'request refused', requestId, status, type: problem.type.name });
  const headers = {
    'Content-Type': PROBLEM_MEDIA_TYPE,
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Request-Id': requestId,
    Connection: 'close',
    ...problem.headers,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`);
}
