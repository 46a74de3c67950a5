import { hideCredentials } from '../auth/hide-credentials.js';
import { type ProblemType, problemTypeUri } from './problem-type.js';

/** What is wrong with a value: a stable code, and what to write instead. */
export interface ValueFault {
  code: string;
  detail: string;
  /** Where in a text, in characters (code points) from its start. */
  start?: number;
  /** Where that ends, exclusive. */
  end?: number;
}

/** One fault of a request, and where it is. */
export type RequestFault = ValueFault &
  (
    | { /** JSON Pointer (RFC 6901) into the request body. */ pointer: string }
    | { /** Name of the query, path or header parameter; empty for the query as a whole. */ parameter: string }
  );

/** What to do about a name that is not declared. */
export const UNKNOWN_NAME = 'is not known here: check its spelling or leave it out';

/** A JSON Pointer (RFC 6901) from property names and indexes. */
export function jsonPointer(path: readonly (string | number)[]): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** What one occurrence of a problem adds to its type. */
export interface ProblemOptions {
  /** Of the response, for example `Retry-After`. */
  headers?: Readonly<Record<string, string>>;
  /** Every fault of the request, for status 400. */
  errors?: readonly RequestFault[];
  /** The error behind it: logged, never sent. */
  cause?: unknown;
}

/** An error that the client gets as it is, as `application/problem+json` (RFC 9457). */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly headers;
  readonly errors;

  /**
   * @param type - from `defineProblemType`
   * @param detail - what is wrong this time and how to fix it, for the client's developer
   */
  constructor(
    readonly type: ProblemType,
    detail: string,
    { headers = {}, errors, cause }: ProblemOptions = {},
  ) {
    const { stackTraceLimit } = Error;
    // Its stack is not used, and takes as long as the rest of a refusal: what is logged is the cause.
    Error.stackTraceLimit = 0;
    super(detail, { cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.headers = headers;
    this.errors = errors;
  }
}

/** Media type of every error (RFC 9457). */
export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/**
 * The members of a problem (RFC 9457, section 3.1), with `requestId` and `errors` as extensions.
 *
 * @param path - of the request, without its query: queries can carry secrets
 */
export function problemBody({ type, message, errors }: Problem, path: string, requestId: string) {
  // All but what can stand in a URI (RFC 3986, section 3.3) is encoded.
  const instance = path.replaceAll(/%(?![0-9A-F]{2})|[^A-Za-z0-9\-._~!$&'()*+,;=:@/%]/giu, encodeURIComponent);
  const { title, status } = type;
  return { type: problemTypeUri(type), title, status, detail: message, instance, requestId, errors };
}

/** The same as it is sent. Clients get back what they put into paths and names, but no credential. */
export function problemJson(problem: Problem, path: string, requestId: string): string {
  return JSON.stringify(problemBody(problem, path, requestId), (_name, value: unknown) =>
    typeof value === 'string' ? hideCredentials(value) : value,
  );
}
