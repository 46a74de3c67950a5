import { isUtf8 } from 'node:buffer';
import { parse } from 'node:querystring';
import type { Request } from 'express';
import getRawBody from 'raw-body';
import { hasBody } from './express.js';
import { BODY_TIME, requestsWithOwnTime } from './http-server.js';
import { findExcess } from './json-size.js';
import { isDecodable } from './percent-encoding.js';
import { badRequest, contentTooLarge, requestTimeout } from './problem-types.js';
import { type FaultCode, invalidRequest, Problem } from './problem.js';

export type BodyParser = keyof typeof MEDIA_TYPES;

/** How a route takes its body. */
export interface BodyRules {
  readonly parser: BodyParser;
  readonly mediaTypes: readonly string[];
  /** Maximum size in bytes. */
  readonly limit: number;
  /** Maximum names and elements over all levels. Converting and validating each takes microseconds. */
  readonly maximumMembers: number;
  readonly rawBody: boolean;
}

/** Undefined for the default of the parser. */
type Given = { [Name in 'limit' | 'maximumMembers' | 'rawBody']?: BodyRules[Name] | undefined } & {
  type?: string | readonly string[] | undefined;
};

const MEDIA_TYPES = {
  json: 'application/json',
  urlencoded: 'application/x-www-form-urlencoded',
  text: 'text/plain',
  raw: '*/*',
  multipart: 'multipart/form-data',
};

/** Maximum size in bytes of a body that its route does not declare. */
export const BODY_LIMIT = 64 * 1024;

/** The same for multipart, which an interceptor reads. */
const MULTIPART_LIMIT = 1024 * 1024;

/** Bytes per millisecond of the slowest client of a larger body: 256 kbit/s. */
const SLOWEST_RATE = 32;

/** @param given - differences from the rules of the parser */
export function rulesFor(parser: BodyParser, given: Given = {}): BodyRules {
  const { type = MEDIA_TYPES[parser], limit = parser === 'multipart' ? MULTIPART_LIMIT : BODY_LIMIT, rawBody = false } = given;
  const { maximumMembers = 400 * Math.max(1, Math.floor(limit / BODY_LIMIT)) } = given;
  return { parser, mediaTypes: [type].flat(), limit, maximumMembers, rawBody };
}

/** How a route takes its body unless it declares otherwise. */
export const DEFAULT_BODY = rulesFor('json');
export const DEFAULT_UPLOAD = rulesFor('multipart');

/** @throws Problem `invalid-body` if the body is missing or has another media type */
export function checkMediaType(request: Request, { mediaTypes }: BodyRules): void {
  const [given = ''] = (request.headers['content-type'] ?? '').toLowerCase().split(';');
  const isTaken = mediaTypes.some((type) => type === '*/*' || type === given.trim() || type === given.replace(/\/.*/, '/*'));
  if (!hasBody(request) || !isTaken) {
    throw missingBody(request, mediaTypes);
  }
}

/** The 400 problem for a handler that needs a body of one of the media types. */
export function missingBody(request: Request, mediaTypes = DEFAULT_BODY.mediaTypes): Problem {
  const types = mediaTypes.join(' or ');
  return hasBody(request)
    ? faulty('media_type', `must be sent with Content-Type: ${types}`)
    : faulty('required', `is missing: send ${mediaTypes === DEFAULT_BODY.mediaTypes ? 'a JSON object' : types}`);
}

/**
 * Unlike Express' parsers, stops at the limit and rejects invalid UTF-8.
 *
 * @param isArray - whether JSON must be an array, instead of an object
 * @throws Problem `invalid-body` or `content-too-large`
 */
export async function readBody(request: Request, rules: BodyRules, isArray = false): Promise<unknown> {
  const { 'content-encoding': coding = 'identity', 'content-type': mediaType = '' } = request.headers;
  if (coding !== 'identity') {
    throw faulty('content_encoding', 'must be sent without compression');
  }
  const bytes = await readBytes(request, rules.limit);
  if (rules.rawBody) {
    Object.assign(request, { rawBody: bytes });
  }
  if (rules.parser === 'raw') {
    return bytes;
  }
  if (!isUtf8(bytes) || /charset=(?!"?utf-?8\b)/i.test(mediaType)) {
    throw faulty('charset', 'must be encoded in UTF-8');
  }
  const text = bytes.toString().replace(/^\ufeff/, '');
  if (rules.parser === 'text') {
    return text;
  }
  return rules.parser === 'json' ? parseJson(text, rules, isArray) : parseForm(text, rules);
}

/**
 * Bounds a body that an interceptor reads later, such as Multer's: beyond the limit, or after its time, it gets an error.
 *
 * @throws Problem `content-too-large` if its `Content-Length` is beyond the limit
 */
export function limitUpload(request: Request, { limit }: BodyRules): void {
  const { 'content-length': length } = request.headers;
  if (Number(length ?? 0) > limit) {
    throw contentTooLargeProblem(limit);
  }
  sendContinue(request);
  allowTime(request, limit);
  let received = 0;
  // Paused, because the interceptor is to begin.
  request.pause().on('data', ({ length: size }: Buffer) => {
    received += size;
    if (received > limit) {
      fail(request, contentTooLargeProblem(limit));
    }
  });
}

/** Fails the reader after the time that a slow client needs. */
function allowTime(request: Request, limit: number): void {
  requestsWithOwnTime.add(request);
  const time = BODY_TIME + limit / SLOWEST_RATE;
  const detail = `The body did not arrive in ${Math.round(time / 1000)} s.`;
  const timer = setTimeout(() => fail(request, new Problem(requestTimeout, detail)), time).unref();
  request.once('close', () => clearTimeout(timer));
}

/** Reads no further, and gives the error to who reads. */
function fail(request: Request, problem: Problem): void {
  // Node would also destroy the socket, which is to carry the response.
  Object.assign(request, { _destroy: (error: Error, done: (error: Error) => void) => done(error) });
  // In case that no reader has an error listener.
  request.on('error', () => undefined).destroy(problem);
}

function sendContinue({ res: response, httpVersion, headers: { expect } }: Request): void {
  if (httpVersion === '1.1' && expect?.toLowerCase() === '100-continue') {
    response?.writeContinue();
  }
}

async function readBytes(request: Request, limit: number): Promise<Buffer> {
  const { 'content-length': length = null } = request.headers;
  if (Number(length) <= limit) {
    sendContinue(request);
  }
  if (limit > BODY_LIMIT) {
    allowTime(request, limit);
  }
  try {
    return await getRawBody(request, { limit, length });
  } catch (error) {
    if (error instanceof Problem) {
      throw error;
    }
    const isTooLarge = Error.isError(error) && 'type' in error && error.type === 'entity.too.large';
    // Any other error means that the client has gone and does not read the response.
    throw isTooLarge ? contentTooLargeProblem(limit) : new Problem(badRequest, 'The request ended before its body did.');
  }
}

function parseJson(text: string, { maximumMembers }: BodyRules, isArray: boolean): object {
  const excess = findExcess(text, maximumMembers);
  if (excess) {
    throw faulty(...excess);
  }
  const value = toJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value) !== isArray) {
    throw isArray ? faulty('type', 'must be a JSON array') : faulty('not_object', 'must be a JSON object');
  }
  return value;
}

function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw faulty('syntax', `must be valid JSON: ${Error.isError(error) ? error.message : 'it cannot be parsed'}`);
  }
}

function parseForm(text: string, { maximumMembers }: BodyRules): object {
  const pairs = text.split('&');
  if (pairs.length > maximumMembers) {
    throw faulty('too_many', `must have at most ${maximumMembers} names`);
  }
  if (!pairs.every(isDecodable)) {
    throw faulty('encoding', 'must be percent-encoded UTF-8: write %25 for a percent sign');
  }
  return parse(text, '&', '=', { maxKeys: 0 });
}

function faulty(code: FaultCode, detail: string): Problem {
  return invalidRequest([{ pointer: '', code, detail }]);
}

export function contentTooLargeProblem(limit = BODY_LIMIT): Problem {
  return new Problem(contentTooLarge, `The body may have at most ${limit} bytes.`);
}
