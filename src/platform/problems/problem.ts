import { HttpException } from '@nestjs/common';
import type { Request } from 'express';
import { hideCredentials, shownPath } from '../errors/redaction.js';
import { prototypesByStatus } from './nest-exceptions.js';
import { internalError, invalidBody, invalidParameters, type ProblemType, problemTypeUri } from './problem-types.js';

/** Every `code` of the platform's faults, with its meaning. Rules of class-validator have others, named after them. */
export const FAULT_CODES = {
  blank: 'It has only white space.',
  character: 'It contains U+0000 or a lone surrogate.',
  charset: 'The body is not UTF-8.',
  content_encoding: 'The body is compressed.',
  cursor: 'It is not a `nextCursor` of this list with this filter.',
  encoding: 'It is not percent-encoded UTF-8.',
  etag: 'It is not `*` or a list of entity tags.',
  key: 'It is not a valid `Idempotency-Key`.',
  limit: 'The filter is too long or too slow.',
  media_type: 'The body has another `Content-Type` than the operation takes.',
  not_object: 'The body is not a JSON object.',
  range: 'It is too small or too large.',
  repeated: 'It is given more than once.',
  required: 'It is missing.',
  syntax: 'The body is not JSON, or the filter is not CEL.',
  too_deep: 'The body is nested too deeply.',
  too_long: 'It has too many characters.',
  too_many: 'The query has too many parameters, or the body too many names and elements.',
  type: 'It has the wrong type, or is not one of the allowed values.',
  unknown: 'The operation has no such property or parameter.',
  unknown_field: 'The filter names a field that does not exist.',
  unsupported: 'The filter uses a part of CEL that is not supported.',
  value: 'The filter compares a field with a value that it cannot have.',
} as const;

export type FaultCode = keyof typeof FAULT_CODES;

/** An invalid value: a stable code, and how to fix it. */
export interface ValueFault {
  code: string;
  detail: string;
  /** Position in a text, in characters (code points) from its start. */
  start?: number;
  /** End of that range, exclusive. */
  end?: number;
}

/** A fault of a request with its position. */
export type FieldError = ValueFault &
  (
    | { /** JSON Pointer (RFC 6901) into the request body. */ pointer: string }
    | { /** Name of the query, path or header parameter; empty for the query as a whole. */ parameter: string }
  );

/** Detail of an undeclared property or parameter. */
export const UNKNOWN_NAME = 'is unknown: check the spelling or remove it';

/** Maximum characters of a pointer: hundreds of faults can lie below one long name. */
const MAXIMUM_POINTER = 128;

/** A JSON Pointer (RFC 6901) of names and indexes. A long one is cut, before a word that could be part of a credential. */
export function jsonPointer(path: readonly (string | number)[]): string {
  // Escapes only as much of a name as can be shown: a name of slashes can fill a body.
  const steps = path.map((step) => String(step).slice(0, MAXIMUM_POINTER).replaceAll('~', '~0').replaceAll('/', '~1'));
  const pointer = steps.map((step) => `/${step}`).join('');
  if (pointer.length <= MAXIMUM_POINTER) {
    return pointer;
  }
  const start = pointer.slice(0, MAXIMUM_POINTER).toWellFormed();
  return `${start.replace(/(?<![\w.~%-])[\w.~%-]*$/, '')}…`;
}

/** The parts of a problem that differ between occurrences. */
export interface ProblemOptions {
  /** Response headers, such as `Retry-After`. */
  headers?: Readonly<Record<string, string>>;
  /** Every fault of the request, for status 400. */
  errors?: readonly FieldError[];
  /** Further members (RFC 9457, section 3.2). */
  members?: Readonly<Record<string, unknown>> | undefined;
  /** The underlying error: logged, never sent. */
  cause?: unknown;
}

/**
 * An error that is sent as `application/problem+json` (RFC 9457). It is an instance of Nest's exception of its status:
 * `@Catch(BadRequestException)` catches an invalid body, as it does with Nest's `ValidationPipe`.
 */
export class Problem extends HttpException {
  override readonly name = 'Problem';
  // oxlint-disable-next-line no-unused-private-class-members -- `in` uses it
  readonly #isProblem = true;
  readonly headers;
  readonly errors;
  readonly members;

  /** @param detail - what is wrong in this case and how to fix it, for the developer of the client */
  constructor(
    readonly type: ProblemType,
    detail: string,
    { headers = {}, errors, members, cause }: ProblemOptions = {},
  ) {
    const { stackTraceLimit } = Error;
    // Only a 500 logs its stack. For others, capturing it would take as long as the rest of a refusal.
    if (type.status !== internalError.status) Error.stackTraceLimit = 0;
    super(detail, type.status, { cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.headers = headers;
    this.errors = errors;
    this.members = members;
    const prototype = new.target === Problem && PROTOTYPES.get(type.status);
    if (prototype) Object.setPrototypeOf(this, prototype);
  }

  /** `instanceof`, for problems whose prototype is that of Nest's exception, too. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return this === Problem ? #isProblem in Object(value) : super[Symbol.hasInstance](value);
  }

  /** The members that Nest's exceptions have, `errors`, and the further members of the problem. */
  override getResponse() {
    const { status: statusCode, title: error } = this.type;
    return { ...this.members, statusCode, error, message: this.message, ...(this.errors && { errors: this.errors }) };
  }
}

const PROTOTYPES = prototypesByStatus(Problem.prototype);

/** Maximum faults in `errors`: a response should not be much longer than its request. */
export const MAXIMUM_FAULTS = 100;

/** Maximum faults in `detail`. */
const MAXIMUM_SENTENCES = 10;

/** The 400 problem for the faults of a request. @param count - of all faults, if `faults` are only the first */
export function invalidRequest(faults: readonly FieldError[], count = faults.length): Problem {
  const type = faults.some((fault) => 'pointer' in fault) ? invalidBody : invalidParameters;
  const detail =
    count > MAXIMUM_SENTENCES ? `The request has ${count} errors: see "errors".` : faults.map(sentence).join(' ');
  return new Problem(type, detail, { errors: faults.slice(0, MAXIMUM_FAULTS) });
}

/** An empty pointer is the whole body; an empty parameter is the whole query. */
function sentence(fault: FieldError): string {
  const words = `${'pointer' in fault ? fault.pointer || 'The body' : fault.parameter || 'The query'} ${fault.detail}`;
  return /[.?!]$/.test(words) ? words : `${words}.`;
}

/** Media type of all errors (RFC 9457). */
export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/**
 * The members of a problem (RFC 9457, section 3.1).
 *
 * @param path - path of the request without the query, which can contain secrets; undefined for a message
 * @param requestId - a string, unless a package such as `pino-http` sets an id of another type
 * @param prefix - start of all public paths, which a proxy strips
 */
export function problemBody(
  { type, message, errors, members }: Problem,
  path?: string,
  requestId?: Request['id'],
  prefix = '',
) {
  // Encodes all characters that a URI path does not allow (RFC 3986, section 3.3).
  const escaped = path?.replaceAll(/%(?![0-9A-F]{2})|[^A-Za-z0-9\-._~!$&'()*+,;=:@/%]/giu, encodeURIComponent);
  // Two slashes would begin the name of a host (RFC 3986, section 4.2).
  const instance = escaped === undefined ? undefined : `${prefix}${shownPath(escaped)}`.replace(/^\/\//, '/.//');
  const { title, status } = type;
  const own = { type: problemTypeUri(type, prefix), title, status, detail: message, instance, requestId };
  return { ...members, ...own, ...(errors && { errors }) };
}

/** The problem as it is sent. Clients get their own input back in paths and names, but no credentials. */
export function problemJson(...parts: Parameters<typeof problemBody>): string {
  return JSON.stringify(problemBody(...parts), (_name, value: unknown) =>
    typeof value === 'string' ? hideCredentials(value) : value,
  );
}
