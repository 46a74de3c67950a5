import { IncomingMessage, type ServerOptions, ServerResponse } from 'node:http';
import type { Express, Request, Response } from 'express';

/**
 * Requests and responses that have from their beginning the prototypes that Express gives them. By itself it changes those of each,
 * after which V8 knows nothing of its properties any more.
 *
 * @returns for `createServer`
 */
export function expressMessages(express: Express): ServerOptions {
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse<Of extends IncomingMessage> extends ServerResponse<Of> {}
  Object.setPrototypeOf(ExpressRequest.prototype, express.request);
  Object.setPrototypeOf(ExpressResponse.prototype, express.response);
  express.request = ExpressRequest.prototype as Request;
  express.response = ExpressResponse.prototype as Response;
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}
