import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream';
import { Logger, StreamableFile } from '@nestjs/common';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import type { Express, NextFunction, Request, Response } from 'express';
import { OperatorError } from '../errors/operator-error.js';
import { closeLingering, LINGER } from './unreadable-requests.js';
import { rejectUnknown } from './late-routes.controller.js';
import { badRequest } from '../problems/problem-types.js';
import { Problem } from '../problems/problem.js';
import { isDecodable } from '../requests/percent-encoding.js';
import { requestIdOf, requestStorage } from '../requests/request.js';

/** Allows only files of this origin: Swagger UI has no inline code. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

/** Maximum bytes of an unread body that are received and discarded. */
const MAX_DISCARDED = 16 * 2 ** 20;
/** Milliseconds for which it is discarded after the response: in slow networks, a body takes longer than {@link LINGER}. */
const DISCARD_TIME = 5000;

const logger = new Logger('Http');

/**
 * Sets the request id, from a safe `X-Request-Id` or a new one, and the headers of every response, and stores the request
 * for all code that runs on its behalf. TLS headers belong to the proxy in front: the service itself speaks plain HTTP.
 */
export function beginRequest(request: Request, response: Response, next: NextFunction): void {
  request.id = requestIdOf(request);
  response.setHeader('X-Request-Id', request.id);
  response.setHeader('Content-Security-Policy', CONTENT_SECURITY_POLICY);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Referrer-Policy', 'no-referrer');
  response.setHeader('Cache-Control', 'no-store');
  requestStorage.run(request, next);
}

/** A host and port (RFC 9110, section 7.2), or nothing. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/i;

/** HTTP/1.1 requires one valid `Host` header (RFC 9112, section 3.2). Node joins several with `, `, which is invalid. */
export function requireHost({ headers, httpVersion }: Request, _response: Response, next: NextFunction): void {
  if (headers.host === undefined ? httpVersion === '1.1' : !HOST.test(headers.host)) {
    throw new Problem(badRequest, 'The Host header is missing, repeated or invalid: send one that is valid.');
  }
  next();
}

/** Makes paths case-sensitive and strict. Turns off Nest's body parser: `InputGuard` reads bodies after other guards. */
export function configureExpress(
  app: NestExpressApplication,
  trustedProxies: readonly string[],
  /** Awaited before Nest destroys the modules. */
  beforeClose: () => Promise<void>,
): void {
  const adapter = app.getHttpAdapter();
  const express: Express = adapter.getInstance();
  if (express.router.stack.some(({ route }) => route)) {
    throw new OperatorError('A module maps a path in a constructor, before all guards: map it in onModuleInit().');
  }
  express.disable('x-powered-by').disable('etag').set('trust proxy', trustedProxies);
  // `set` would have no effect: Express has made its router with these settings, because Nest has added middleware.
  Object.assign(express.router, { caseSensitive: true, strict: true });
  const setNotFoundHandler = (_handler: unknown, prefix?: string) => {
    if (prefix) {
      const remedy = 'write the prefix into @Controller() or RouterModule, or into PUBLIC_URL if a proxy removes it.';
      throw new OperatorError(`app.setGlobalPrefix() would open what libraries map outside of it: ${remedy}`);
    }
    express.use(rejectUnknown);
  };
  Object.assign(adapter, { registerParserMiddleware: () => undefined, setNotFoundHandler, beforeClose });
}

/** Express with a faster JSON response: `response.json` takes 6 % more CPU time for a first page, 8 % for a create. */
export class JsonAdapter extends ExpressAdapter {
  override reply(response: Response, body: unknown, status = response.statusCode): unknown {
    // Nest and Express give these no special treatment, unlike texts and files.
    const isPlain = Array.isArray(body) || (Object(body) === body && Object.getPrototypeOf(body) === Object.prototype);
    const mayHaveNoBody = status >= 204 || response.req.method === 'HEAD';
    const isConditional = response.hasHeader('ETag') || response.hasHeader('Last-Modified');
    if (!isPlain || mayHaveNoBody || isConditional || isReplaced(response)) {
      closeBehindUnreadBody(response);
      if (body instanceof StreamableFile) {
        respondWithProblemsOf(body, response);
      }
      return super.reply(response, body, status) as unknown;
    }
    response.statusCode = status;
    return sendJson(response, JSON.stringify(body));
  }
}

/** Whether middleware has replaced these methods, for example to change or log bodies. */
function isReplaced(response: Response): boolean {
  return Object.hasOwn(response, 'json') || Object.hasOwn(response, 'send');
}

/** The code of Nest's handler of a file's errors, which a feature may replace. */
const FILE_ERROR_HANDLER = String(new StreamableFile(Buffer.of()).errorHandler);

/** Passes an error before the first byte of a file to the exception filters: Nest sends a text with status 400. */
function respondWithProblemsOf(file: StreamableFile, response: Response): void {
  const { errorHandler } = file;
  if (String(errorHandler) === FILE_ERROR_HANDLER) {
    file.setErrorHandler((error, given) => {
      if (given.destroyed || given.headersSent) {
        errorHandler(error, given);
      } else {
        response.req.next?.(error);
      }
    });
  }
}

/** Sends a JSON text, as `application/json` unless the response has a type, and by methods that middleware has replaced. */
export function sendJson(response: Response, json: string): Response {
  const isUnread = closeBehindUnreadBody(response);
  if (isReplaced(response)) {
    return response.json(JSON.parse(json));
  }
  if (!response.hasHeader('Content-Type')) {
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
  }
  const length = Buffer.byteLength(json);
  response.setHeader('Content-Length', length);
  // ASCII needs no encoding.
  const send = () => endLater(response, json, length === json.length ? 'latin1' : 'utf8');
  const { req: request, statusCode } = response;
  if (isUnread && statusCode >= 400 && request.headers.expect === undefined) {
    // Some clients of a proxy that speaks HTTP/2 lose a response that comes before they have sent the body.
    finished(request, { signal: AbortSignal.timeout(LINGER) }, send);
  } else {
    send();
  }
  return response;
}

/**
 * Closes the connection after the response if the request's body is not read: to reuse the connection, Node would read the
 * rest, of any length. Discards what arrives until then (RFC 9112, section 9.6): some clients read only after sending all.
 *
 * @returns whether the body is not read
 */
function closeBehindUnreadBody(response: ServerResponse): boolean {
  const { req: request } = response;
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers;
  // If a short body arrives with the headers, Node sets `complete` only after the response: compare the lengths.
  if (request.complete || (coding === undefined && request.readableLength === Number(length))) {
    return false;
  }
  response.setHeader('Connection', 'close');
  const { socket } = request;
  const last = socket.bytesRead + MAX_DISCARDED;
  request.on('data', () => (socket.bytesRead > last ? request.pause() : undefined)).resume();
  // Node calls this after the last response of a connection.
  socket.destroySoon = () => closeLingering(socket, DISCARD_TIME);
  return true;
}

const ending: Parameters<typeof endLater>[] = [];

/** Sends the responses of an event loop turn together, to wake their reader once: refusals take 0.65 of the CPU time. */
function endLater(...given: [response: Response, text: string, encoding: BufferEncoding]): void {
  if (ending.push(given) === 1) {
    setImmediate(() => {
      for (const [response, text, encoding] of ending.splice(0)) {
        try {
          response.end(text, encoding);
        } catch (err) {
          logger.error({ msg: 'sending the response failed', err });
          response.destroy();
        }
      }
    });
  }
}

/**
 * Rewrites request targets to which Express would respond before the guards: those without a path (`http://host`, `*`), and
 * those with a path that it cannot decode, whose percent signs are encoded, so that it is not found. Also encodes fragments,
 * which a target may not have (RFC 9112, section 3.2), because Express would find another path.
 */
export function normalizeTarget(request: IncomingMessage): void {
  const { url = '' } = request;
  const local = url.startsWith('/') ? url : `/${url.replace(/^https?:\/\/[^/?]*\/?/i, '')}`;
  const target = local.replaceAll('#', '%23');
  const [path = ''] = target.split('?', 1);
  request.url = path.includes('%') && !isDecodable(path) ? path.replaceAll('%', '%25') + target.slice(path.length) : target;
}
