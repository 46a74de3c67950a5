import type { Request } from 'express';
import getRawBody from 'raw-body';
import { badRequest, contentTooLarge } from './http-problem-types.js';
import { invalidRequest } from './invalid-request.js';
import { Problem } from './problem.js';

/** Largest body that is read, in bytes. */
export const BODY_LIMIT = 64 * 1024;

/** Levels of arrays and objects that a body may nest: validation is recursive. */
const MAXIMUM_DEPTH = 32;

/** Names and elements that a body may have, over all its levels: each unknown name is an error of its own in the response. */
const MAXIMUM_MEMBERS = 1000;

/**
 * Reads a request body that must be one JSON object in UTF-8, sent as `application/json` without content coding.
 * Nothing is read before this is called: a request that a guard refuses costs neither parsing nor memory.
 *
 * @throws Problem `invalid-body` with a code that says what is wrong, or `content-too-large`
 */
export async function readJsonObject(request: Request): Promise<Record<string, unknown>> {
  checkHeaders(request);
  const value = parse(decode(await readBytes(request)));
  if (!isContainer(value) || Array.isArray(value)) {
    throw faulty('not_object', 'must be a JSON object');
  }
  checkSize(value);
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
    // The client is gone: this response is not read.
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

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function checkSize(body: object): void {
  let members = 0;
  let level = [body];
  for (let depth = 1; level.length > 0; depth += 1) {
    const values = level.flatMap((container) => Object.values(container) as unknown[]);
    members += values.length;
    level = values.filter(isContainer);
    if (depth === MAXIMUM_DEPTH && level.length > 0) {
      throw faulty('too_deep', `must not nest deeper than ${MAXIMUM_DEPTH} levels`);
    }
    if (members > MAXIMUM_MEMBERS) {
      throw faulty('too_many', `must have at most ${MAXIMUM_MEMBERS} names and elements`);
    }
  }
}

function faulty(code: string, detail: string): Problem {
  return invalidRequest([{ pointer: '', code, detail }]);
}

/** The body is larger than {@link BODY_LIMIT}. */
export function contentTooLargeProblem(): Problem {
  return new Problem(contentTooLarge, `The body must have at most ${BODY_LIMIT} bytes.`);
}
