import { Logger } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Response } from 'express';
import { closeBehindUnreadBody } from './http-server.js';

/** Express with a faster JSON response: `response.json` takes 6 % more processor time for a first page, 8 % for a create. */
export class JsonAdapter extends ExpressAdapter {
  override reply(response: Response, body: unknown, status = response.statusCode): unknown {
    const isBodiless = status >= 204 || response.req.method === 'HEAD';
    const isConditional = response.hasHeader('ETag') || response.hasHeader('Last-Modified');
    if (!isJson(body) || isBodiless || isConditional) {
      return super.reply(response, body, status) as unknown;
    }
    response.statusCode = status;
    return sendJson(response, JSON.stringify(body));
  }
}

/** Sends a JSON text, as `application/json` unless the response has a type. */
export function sendJson(response: Response, json: string): Response {
  closeBehindUnreadBody(response);
  if (!response.hasHeader('Content-Type')) {
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
  }
  const length = Buffer.byteLength(json);
  response.setHeader('Content-Length', length);
  // ASCII needs no encoding.
  endLater(response, json, length === json.length ? 'latin1' : 'utf8');
  return response;
}

const logger = new Logger('Http');
const ending: Parameters<typeof endLater>[] = [];

/** Joins the responses of an event loop turn, so that their reader wakes up once: refusals take 0.65 of the processor time. */
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

/** Arrays and plain objects, which Nest and Express give no special treatment. */
function isJson(body: unknown): body is object {
  return Array.isArray(body) || (typeof body === 'object' && body !== null && Object.getPrototypeOf(body) === Object.prototype);
}
