import { createServer } from 'node:http';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Express, Response } from 'express';
import { expressMessages } from './express-messages.js';
import { closeBehindUnreadBody } from './unread-body.js';
import { sendJson } from './send-json.js';

/** Answers without a body. */
const EMPTY: ReadonlySet<number> = new Set([204, 205, 304]);

/** Headers by which Express tells a client that its copy is still fresh. */
const VALIDATORS = ['etag', 'last-modified'];

/** Express, which is asked only about answers that are more than JSON. */
export class JsonAdapter extends ExpressAdapter {
  override initHttpServer(): void {
    const express = this.getInstance<Express>();
    this.httpServer = createServer(expressMessages(express), express);
  }

  override reply(response: Response, body: unknown, status?: number): unknown {
    closeBehindUnreadBody(response.req, response);
    if (!isJson(body) || response.req.method === 'HEAD' || VALIDATORS.some((name) => response.hasHeader(name))) {
      return super.reply(response, body, status) as unknown;
    }
    if (status !== undefined) {
      response.statusCode = status;
    }
    if (EMPTY.has(response.statusCode)) {
      return super.reply(response, body) as unknown;
    }
    return sendJson(response, JSON.stringify(body));
  }
}

/** Whether it is a list or a plain object, and nothing that Nest or Express treat in another way. */
function isJson(body: unknown): body is object {
  return Array.isArray(body) || (typeof body === 'object' && body !== null && Object.getPrototypeOf(body) === Object.prototype);
}
