import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { parse } from 'node:querystring';
import type { Type } from '@nestjs/common';
import type { Request } from 'express';
import getRawBody from 'raw-body';
import { charsetOf, isCompressed, mediaTypeOf } from './content-headers.js';
import { findExcess } from './json-size.js';
import { isDecodable } from '../requests/percent-encoding.js';
import { badRequest, contentTooLarge, requestTimeout } from '../problems/problem-types.js';
import { Problem } from '../problems/problem.js';
import { hasBody, invalidBodyProblem, missingBody } from '../requests/request.js';

export type BodyParser = keyof typeof MEDIA_TYPES;

/** Options of `@UseBodyParser()`. */
export interface BodyParserOptions {
  /** Maximum size in bytes: 64 KiB by default, and 1 MiB for `multipart`. */
  limit?: number;
  /** Media types, such as `text/csv` or `image/*`. By default those of the parser, and any for `raw`. */
  type?: string | readonly string[];
  /** Maximum names and elements of JSON or of a form, over all levels: by default 400 for each 64 KiB of the limit. */
  maximumMembers?: number;
  /** Class of the elements of a JSON array, with rules. */
  items?: Type<object>;
  /** `false` if the handler takes any JSON or form, and checks it itself. */
  validate?: boolean;
  /** Keeps the bytes in `request.rawBody`, as `NestFactory.create(AppModule, { rawBody: true })` does. */
  rawBody?: boolean;
}

/** How a route takes its body. Converting and validating each name and element takes microseconds. */
export type BodyRules = Readonly<BodyParserOptions> & {
  readonly parser: BodyParser;
  readonly mediaTypes: readonly string[];
  readonly limit: number;
  readonly maximumMembers: number;
};

const MEDIA_TYPES = {
  json: 'application/json',
  urlencoded: 'application/x-www-form-urlencoded',
  text: 'text/plain',
  raw: '*/*',
  multipart: 'multipart/form-data',
};

/** Maximum size in bytes of a body that its route does not declare. */
const BODY_LIMIT = 64 * 1024;
/** The same for multipart, which an interceptor reads. */
const MULTIPART_LIMIT = 1024 * 1024;

/** Milliseconds for a body of at most 64 KiB to arrive after the headers. */
export const BODY_TIME = 15_000;
/** Requests whose time for the body depends on its limit, instead of Node's `requestTimeout`. */
export const requestsWithOwnTime = new WeakSet<IncomingMessage>();

/** Bytes per millisecond of the slowest client of a larger body: 256 kbit/s. */
const SLOWEST_RATE = 32;

export function rulesFor(parser: BodyParser, options: BodyParserOptions = {}): BodyRules {
  const { type = MEDIA_TYPES[parser], limit = parser === 'multipart' ? MULTIPART_LIMIT : BODY_LIMIT } = options;
  const { maximumMembers = 400 * Math.max(1, Math.floor(limit / BODY_LIMIT)) } = options;
  return { ...options, parser, mediaTypes: [type].flat(), limit, maximumMembers };
}

/** Of a route that declares none. Refusing 400 unknown names takes as long as nine creates (`bench/hostile-input.ts`). */
export const DEFAULT_BODY = rulesFor('json', { maximumMembers: 100 });
export const DEFAULT_UPLOAD = rulesFor('multipart');

/** @throws Problem `invalid-body` if the body is missing or has another media type */
export function checkMediaType(request: Request, { mediaTypes }: BodyRules): void {
  const given = mediaTypeOf(request.headers);
  const isTaken = mediaTypes.some((type) => type === '*/*' || type === given || type === given.replace(/\/.*/, '/*'));
  if (!hasBody(request) || !isTaken) {
    throw missingBody(request, mediaTypes === DEFAULT_BODY.mediaTypes ? undefined : mediaTypes);
  }
}

/**
 * Unlike Express' parsers, stops at the limit and rejects invalid UTF-8.
 *
 * @param isArray - whether JSON must be an array, instead of an object
 * @throws Problem `invalid-body` or `content-too-large`
 */
export async function readBody(request: Request, rules: BodyRules, isArray = false): Promise<unknown> {
  const { 'content-type': mediaType = '' } = request.headers;
  const bytes = await readBytes(request, rules);
  if (rules.rawBody) {
    Object.assign(request, { rawBody: bytes });
  }
  if (rules.parser === 'raw') {
    return bytes;
  }
  if (!isUtf8(bytes) || !/^utf-?8$/i.test(charsetOf(mediaType))) {
    throw invalidBodyProblem('charset', 'must be encoded in UTF-8');
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
 * @throws Problem `content-too-large` if its `Content-Length` is beyond the limit, `invalid-body` if it is compressed
 */
export function limitUpload(request: Request, { limit }: BodyRules): void {
  expectBody(request, limit);
  let received = 0;
  // Paused, because the interceptor is to begin.
  request.pause().on('data', ({ length: size }: Buffer) => {
    received += size;
    if (received > limit) {
      fail(request, contentTooLargeProblem(limit));
    }
  });
}

/** Lets the client send a body within the limit. The reader of a large one fails after the time that a slow client needs. */
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
    const time = BODY_TIME + limit / SLOWEST_RATE;
    const detail = `The body did not arrive in ${Math.round(time / 1000)} s.`;
    const timer = setTimeout(() => fail(request, new Problem(requestTimeout, detail)), time).unref();
    request.once('close', () => clearTimeout(timer));
  }
}

/** Reads no further, and gives the error to who reads. */
function fail(request: Request, problem: Problem): void {
  // Node would also destroy the socket, which is to carry the response.
  Object.assign(request, { _destroy: (error: Error, done: (error: Error) => void) => done(error) });
  // In case that no reader has an error listener.
  request.on('error', () => undefined).destroy(problem);
}

async function readBytes(request: Request, { limit }: BodyRules): Promise<Buffer> {
  expectBody(request, limit);
  try {
    return await getRawBody(request, { limit, length: request.headers['content-length'] ?? null });
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
    throw invalidBodyProblem(...excess);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalidBodyProblem(
      'syntax',
      `must be valid JSON: ${Error.isError(error) ? error.message : 'it cannot be parsed'}`,
    );
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value) !== isArray) {
    throw isArray
      ? invalidBodyProblem('type', 'must be a JSON array')
      : invalidBodyProblem('not_object', 'must be a JSON object');
  }
  return value;
}

function parseForm(text: string, { maximumMembers }: BodyRules): object {
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
