import type { Request } from 'express';
import getRawBody from 'raw-body';
import { badRequest, contentTooLarge } from './http-problem-types.js';
import { invalidRequest } from './invalid-request.js';
import { findStructureFault } from './json-structure.js';
import { Problem } from './problem.js';

/** Largest body that is read, in bytes. */
export const BODY_LIMIT = 64 * 1024;

/**
 * Reads a request body that must be one JSON object in UTF-8, sent as `application/json` without content coding.
 * Nothing is read before this is called, so whoever was refused earlier cost neither parsing nor memory.
 *
 * @throws Problem `invalid-body` with the code that says which of these is not so, or `content-too-large`
 */
export async function readJsonObject(request: Request): Promise<Record<string, unknown>> {
  checkHeaders(request);
  const text = decode(await readBytes(request));
  const value = parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw faulty('not_object', 'must be a JSON object');
  }
  const fault = findStructureFault(text);
  if (fault) {
    throw invalidRequest([fault]);
  }
  return value as Record<string, unknown>;
}

function checkHeaders({ headers }: Request): void {
  const [mediaType = '', ...parameters] = (headers['content-type'] ?? '').split(';').map((part) => part.trim().toLowerCase());
  if ((headers['content-length'] ?? '0') === '0' && headers['transfer-encoding'] === undefined) {
    throw faulty('required', 'is missing: send a JSON object');
  }
  if (mediaType !== 'application/json') {
    throw faulty('media_type', 'must be sent with Content-Type: application/json');
  }
  if (parameters.some((parameter) => parameter.startsWith('charset=') && !/^charset="?utf-?8"?$/.test(parameter))) {
    throw faulty('charset', 'must be encoded in UTF-8');
  }
  const coding = [headers['content-encoding'] ?? 'identity', headers['transfer-encoding'] ?? 'chunked'].join().toLowerCase();
  if (coding !== 'identity,chunked') {
    throw faulty('content_encoding', 'must be sent without compression');
  }
  if (Number(headers['content-length']) > BODY_LIMIT) {
    throw contentTooLargeProblem();
  }
}

async function readBytes(request: Request): Promise<Buffer> {
  const { headers, httpVersion, res: response } = request;
  if (headers.expect !== undefined && httpVersion !== '1.0') {
    response?.writeContinue();
  }
  try {
    return await getRawBody(request, { limit: BODY_LIMIT });
  } catch (error) {
    const type = Error.isError(error) && 'type' in error ? error.type : undefined;
    if (type === 'entity.too.large') {
      throw contentTooLargeProblem();
    }
    // Nobody reads this answer: the client is gone.
    throw type === 'request.aborted' || type === 'stream.not.readable'
      ? new Problem(badRequest, 'The request ended before its body did.')
      : error;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw faulty('charset', 'must be encoded in UTF-8');
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw faulty('syntax', `must be valid JSON: ${Error.isError(error) ? error.message : 'it cannot be parsed'}`);
  }
}

function faulty(code: string, detail: string): Problem {
  return invalidRequest([{ pointer: '', code, detail }]);
}

/** The body is larger than {@link BODY_LIMIT}. */
export function contentTooLargeProblem(): Problem {
  return new Problem(contentTooLarge, `The body must have at most ${BODY_LIMIT} bytes.`);
}
