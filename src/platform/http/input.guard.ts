import { isUtf8 } from 'node:buffer';
import { parse, type ParsedUrlQuery } from 'node:querystring';
import { type CanActivate, type ExecutionContext, Injectable, type Type } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import getRawBody from 'raw-body';
import { HIDDEN } from '../openapi/operation.decorator.js';
import { parametersOf, type Route, RouteParamtypes } from '../routes/route.js';
import { findExcess } from './json-size.js';
import { isDecodable } from './percent-encoding.js';
import { badRequest, contentTooLarge } from './problem-types.js';
import { type FaultCode, invalidRequest, Problem, UNKNOWN_NAME } from './problem.js';

/** Maximum query parameters. Reporting thousands of errors would dominate the cost of a request. */
const MAX_PARAMETERS = 50;

/** Maximum body size in bytes. */
const BODY_LIMIT = 64 * 1024;

/** Reads the query and a JSON body, last, so that refused requests cost nothing. Hidden routes, such as probes, take any input. */
@Injectable()
export class InputGuard implements CanActivate {
  private readonly names = new WeakMap<Route['handler'], ReadonlySet<string> | undefined>();

  constructor(private readonly reflector: Reflector) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const [controller, handler] = [context.getClass(), context.getHandler()];
    const isHidden = this.reflector.getAllAndOverride<boolean | undefined>(HIDDEN, [handler, controller]);
    if (isHidden || context.getType() !== 'http') {
      return true;
    }
    const request = context.getArgByIndex<Request>(0);
    const start = request.url.indexOf('?');
    if (start >= 0) {
      const query = parseQuery(request.url.slice(start + 1));
      const known = this.names.getOrInsertComputed(handler, () => queryNames(controller, handler));
      refuse(known ? Object.keys(query).filter((name) => !known.has(name)) : [], 'unknown', UNKNOWN_NAME);
      // Express would parse it again on each access.
      Object.defineProperty(request, 'query', { value: query });
    }
    if (hasJsonBody(request)) {
      request.body = await readJson(request);
    }
    return true;
  }
}

/** The query parameters that a handler names; undefined if a class with its own rules, or a wrapper, takes them. */
function queryNames(controller: Type, handler: Route['handler']): ReadonlySet<string> | undefined {
  const isWrapped = (controller.prototype as Record<string, unknown>)[handler.name] !== handler;
  const queries = parametersOf({ controller, name: handler.name }).filter(({ kind }) => kind === RouteParamtypes.QUERY);
  const names = queries.flatMap(({ data }) => (typeof data === 'string' ? [data] : []));
  return isWrapped || names.length < queries.length ? undefined : new Set(names);
}

/** @throws Problem `invalid-parameters` for too many or repeated parameters, or if they are not percent-encoded UTF-8 */
function parseQuery(text: string): ParsedUrlQuery {
  const pairs = text.split('&').filter((pair) => pair !== '');
  refuse(pairs.length > MAX_PARAMETERS ? [''] : [], 'too_many', `must have at most ${MAX_PARAMETERS} parameters`);
  const malformed = pairs.filter((pair) => !isDecodable(pair)).map((pair) => pair.split('=', 1).join());
  refuse(malformed, 'encoding', 'must be percent-encoded UTF-8: write %25 for a percent sign');
  const query = parse(text, '&', '=', { maxKeys: 0 });
  const repeated = Object.keys(query).filter((name) => Array.isArray(query[name]));
  refuse(repeated, 'repeated', 'is given more than once: keep one');
  return query;
}

function refuse(parameters: readonly string[], code: FaultCode, detail: string): void {
  if (parameters.length > 0) {
    throw invalidRequest(parameters.map((parameter) => ({ parameter, code, detail })));
  }
}

function hasJsonBody(request: Request): boolean {
  return /^\s*application\/json\s*(?:;|$)/i.test(request.headers['content-type'] ?? '') && hasBody(request);
}

/** RFC 9112, section 6.3. */
function hasBody({ headers }: Request): boolean {
  return Number(headers['content-length'] ?? 0) !== 0 || headers['transfer-encoding'] !== undefined;
}

/** The 400 problem for a handler that needs a JSON body. */
export function missingBody(request: Request): Problem {
  return hasBody(request)
    ? faulty('media_type', 'must be sent with Content-Type: application/json')
    : faulty('required', 'is missing: send a JSON object');
}

/** Unlike `express.json`, stops at the limit and rejects invalid UTF-8. @throws Problem `invalid-body` or `content-too-large` */
async function readJson(request: Request): Promise<object> {
  const { 'content-encoding': coding = 'identity', 'content-type': mediaType = '' } = request.headers;
  if (coding !== 'identity') {
    throw faulty('content_encoding', 'must be sent without compression');
  }
  const bytes = await readBytes(request);
  if (!isUtf8(bytes) || /charset=(?!"?utf-?8\b)/i.test(mediaType)) {
    throw faulty('charset', 'must be encoded in UTF-8');
  }
  const json = bytes.toString().replace(/^\ufeff/, '');
  const excess = findExcess(json);
  if (excess) {
    throw faulty(...excess);
  }
  const value = parseJson(json);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw faulty('not_object', 'must be a JSON object');
  }
  return value;
}

async function readBytes(request: Request): Promise<Buffer> {
  const { 'content-length': length = null, expect } = request.headers;
  const expectsContinue = request.httpVersion === '1.1' && expect?.toLowerCase() === '100-continue';
  if (expectsContinue && Number(length) <= BODY_LIMIT) {
    request.res?.writeContinue();
  }
  try {
    return await getRawBody(request, { limit: BODY_LIMIT, length });
  } catch (error) {
    const isTooLarge = Error.isError(error) && 'type' in error && error.type === 'entity.too.large';
    // Any other error means that the client has gone and does not read the response.
    throw isTooLarge ? contentTooLargeProblem() : new Problem(badRequest, 'The request ended before its body did.');
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw faulty('syntax', `must be valid JSON: ${Error.isError(error) ? error.message : 'it cannot be parsed'}`);
  }
}

function faulty(code: FaultCode, detail: string): Problem {
  return invalidRequest([{ pointer: '', code, detail }]);
}

export function contentTooLargeProblem(): Problem {
  return new Problem(contentTooLarge, `The body may have at most ${BODY_LIMIT} bytes.`);
}
