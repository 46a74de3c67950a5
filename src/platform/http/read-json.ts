import { isUtf8 } from 'node:buffer';
import type { Request } from 'express';
import getRawBody from 'raw-body';
import { badRequest, contentTooLarge } from './http-problem-types.js';
import { invalidRequest } from './invalid-request.js';
import { type FaultCode, Problem } from './problem.js';

/** Maximum body size in bytes. */
const BODY_LIMIT = 64 * 1024;

/** Maximum nesting: validation is recursive. */
const MAXIMUM_DEPTH = 32;

/** Whether {@link readJson} reads the body of a request. */
export function hasJsonBody(request: Request): boolean {
  const mediaType = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  return mediaType === 'application/json' && hasBody(request);
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
export async function readJson(request: Request): Promise<Record<string, unknown>> {
  const { 'content-encoding': coding = 'identity', 'content-type': mediaType = '' } = request.headers;
  if (coding !== 'identity') {
    throw faulty('content_encoding', 'must be sent without compression');
  }
  const bytes = await readBytes(request);
  if (!isUtf8(bytes) || /charset=(?!"?utf-?8\b)/i.test(mediaType)) {
    throw faulty('charset', 'must be encoded in UTF-8');
  }
  const value = parse(bytes.toString().replace(/^\ufeff/, ''));
  if (!isContainer(value) || Array.isArray(value)) {
    throw faulty('not_object', 'must be a JSON object');
  }
  checkDepth(value);
  return value as Record<string, unknown>;
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

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw faulty('syntax', `must be valid JSON: ${Error.isError(error) ? error.message : 'it cannot be parsed'}`);
  }
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Iterative, because recursion could exhaust the stack. */
function checkDepth(body: object): void {
  let level = [body];
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > MAXIMUM_DEPTH) {
      throw faulty('too_deep', `must not be nested deeper than ${MAXIMUM_DEPTH} levels`);
    }
    level = level.flatMap((container) => Object.values(container).filter(isContainer));
  }
}

function faulty(code: FaultCode, detail: string): Problem {
  return invalidRequest([{ pointer: '', code, detail }]);
}

export function contentTooLargeProblem(): Problem {
  return new Problem(contentTooLarge, `The body may have at most ${BODY_LIMIT} bytes.`);
}
