import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { parse } from 'node:querystring';
import { MIMEType } from 'node:util';
import type { Request } from 'express';
import getRawBody from 'raw-body';
import { findExcess } from './json-size.js';
import { BODY_LIMIT, type BodyOptions } from './use-body-parser.decorator.js';
import { isDecodable } from '../requests/percent-encoding.js';
import { badRequest, contentTooLarge, requestTimeout } from '../problems/problem-types.js';
import { Problem } from '../problems/problem.js';
import { bodyRequiredProblem, hasBody, invalidBodyProblem } from '../requests/request.js';

/** Milliseconds for any body to arrive. A limit adds the time that it takes at the slowest rate. */
export const BODY_TIME = 60_000;
/** Bytes per millisecond: 256 kbit/s. */
const SLOWEST_RATE = 32;

/** Requests with a body limit above 64 KiB, whose time may exceed Node's `requestTimeout`. */
export const requestsWithOwnTime = new WeakSet<IncomingMessage>();

/** The media type of a body without its parameters, in lower case. */
export function mediaTypeOf({ 'content-type': given = '' }: IncomingHttpHeaders): string {
  const [type = ''] = given.toLowerCase().split(';');
  // `trim` would also remove white space that HTTP does not allow here (RFC 9110, section 5.6.3). Node trims the start.
  return /^([^\t ]*)[\t ]*$/.exec(type)?.[1] ?? type;
}

/** @throws Problem `invalid-body` if the body is missing or has another media type */
export function checkMediaType(request: Request, { mediaTypes }: BodyOptions): void {
  const given = mediaTypeOf(request.headers);
  const isTaken = mediaTypes.some((type) => type === '*/*' || type === given || type === given.replace(/\/.*/, '/*'));
  if (!hasBody(request) || !isTaken) {
    throw bodyRequiredProblem(request, mediaTypes);
  }
}

/**
 * Reads and parses a body. Unlike Express' parsers, it stops reading at the limit and rejects invalid UTF-8.
 *
 * @param isArray - whether JSON must be an array, instead of an object
 * @throws Problem `invalid-body` or `content-too-large`
 */
export async function readBody(request: Request, options: BodyOptions, isArray = false): Promise<unknown> {
  const { 'content-type': mediaType = '' } = request.headers;
  const bytes = await readBytes(request, options);
  if (options.rawBody) {
    Object.assign(request, { rawBody: bytes });
  }
  if (options.parser === 'raw') {
    return bytes;
  }
  if (!isUtf8(bytes) || !/^utf-?8$/i.test(charsetOf(mediaType))) {
    throw invalidBodyProblem('charset', 'must be encoded in UTF-8');
  }
  const text = bytes.toString().replace(/^\ufeff/, '');
  if (options.parser === 'text') {
    return text;
  }
  return options.parser === 'json' ? parseJson(text, options, isArray) : parseForm(text, options);
}

/**
 * Limits a body that an interceptor, such as Multer's, reads later: beyond the size or time limit, its stream fails.
 *
 * @throws Problem `content-too-large` if its `Content-Length` is beyond the limit, `invalid-body` if it is compressed
 */
export function limitUpload(request: Request, { limit }: BodyOptions): void {
  expectBody(request, limit);
  let received = 0;
  // Paused, so that `on('data')` does not start the stream before the interceptor listens.
  request.pause().on('data', ({ length: size }: Buffer) => {
    received += size;
    if (received > limit) {
      fail(request, contentTooLargeProblem(limit));
    }
  });
}

/** Checks headers, lets the client send the body, and limits its time. */
function expectBody(request: Request, limit: number): void {
  const { httpVersion, headers, res: response } = request;
  if (isCompressed(headers)) {
    throw invalidBodyProblem('content_encoding', 'must be sent without compression');
  }
  if (Number(headers['content-length'] ?? 0) > limit) {
    throw contentTooLargeProblem(limit);
  }
  if (httpVersion === '1.1' && headers.expect?.toLowerCase() === '100-continue') {
    response?.writeContinue();
  }
  if (limit > BODY_LIMIT) {
    requestsWithOwnTime.add(request);
  }
  // Node's `requestTimeout` would send a problem without the headers of the response.
  const time = BODY_TIME + limit / SLOWEST_RATE;
  const expired = () => new Problem(requestTimeout, `The body did not arrive in ${Math.round(time / 1000)} s.`);
  const timer = setTimeout(() => fail(request, expired()), time).unref();
  request.once('close', () => clearTimeout(timer));
}

/** Whether `Content-Encoding` or `Transfer-Encoding` changes the bytes of a body, apart from chunks. */
function isCompressed(headers: IncomingHttpHeaders): boolean {
  const { 'content-encoding': content = '', 'transfer-encoding': transfer = 'chunked' } = headers;
  return !/^\s*(?:identity\s*)?$/i.test(content) || !/^\s*chunked\s*$/i.test(transfer);
}

/** The charset that a media type names, by default UTF-8; empty if the type is not valid. */
function charsetOf(mediaType: string): string {
  try {
    // Most media types name no charset, and need not be parsed.
    return (/charset/i.test(mediaType) && new MIMEType(mediaType).params.get('charset')) || 'utf-8';
  } catch {
    return '';
  }
}

/** Stops reading a request. The reader of its body gets the problem as the error of the stream. */
function fail(request: Request, problem: Problem): void {
  // Node's own `_destroy` would also destroy the socket, on which the response is still to be sent.
  Object.assign(request, { _destroy: (error: Error, done: (error: Error) => void) => done(error) });
  // Without any listener, the error would be an uncaught exception.
  request.on('error', () => undefined).destroy(problem);
}

async function readBytes(request: Request, { limit }: BodyOptions): Promise<Buffer> {
  expectBody(request, limit);
  try {
    return await getRawBody(request, { limit });
  } catch (error) {
    if (error instanceof Problem) {
      throw error;
    }
    const isTooLarge = Error.isError(error) && 'type' in error && error.type === 'entity.too.large';
    // Any other error means that the client has disconnected, and does not read the response.
    throw isTooLarge ? contentTooLargeProblem(limit) : new Problem(badRequest, 'The request ended before its body did.');
  }
}

function parseJson(text: string, { maximumMembers }: BodyOptions, isArray: boolean): object {
  const excess = findExcess(text, maximumMembers);
  if (excess) {
    throw invalidBodyProblem(...excess);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalidBodyProblem('syntax', `must be valid JSON: ${(error as SyntaxError).message}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value) !== isArray) {
    throw isArray
      ? invalidBodyProblem('type', 'must be a JSON array')
      : invalidBodyProblem('not_object', 'must be a JSON object');
  }
  return value;
}

function parseForm(text: string, { maximumMembers }: BodyOptions): object {
  const pairs = text.split('&');
  if (pairs.length > maximumMembers) {
    throw invalidBodyProblem('too_many', `must have at most ${maximumMembers} names`);
  }
  if (!pairs.every(isDecodable)) {
    throw invalidBodyProblem('encoding', 'must be percent-encoded UTF-8: write %25 for a percent sign');
  }
  return parse(text, '&', '=', { maxKeys: 0 });
}

export function contentTooLargeProblem(limit = BODY_LIMIT): Problem {
  return new Problem(contentTooLarge, `The body may have at most ${limit} bytes.`);
}
