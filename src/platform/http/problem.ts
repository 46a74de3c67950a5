import type { ProblemType } from './problem-type.js';

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
  /** Sent with the answer, for example `Retry-After`. */
  headers?: Readonly<Record<string, string>>;
  /** Every fault of the request, for status 400. */
  errors?: readonly RequestFault[];
  /** The error behind it: logged, never sent. */
  cause?: unknown;
}

/** An error that is answered as it is, as `application/problem+json` (RFC 9457). */
export class Problem extends Error {
  override readonly name = 'Problem';
  /** Sent with the answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** Every fault of the request. */
  readonly errors: readonly RequestFault[] | undefined;

  /**
   * @param type - from `defineProblemType`
   * @param detail - what is wrong this time and how to fix it, for the client's developer
   */
  constructor(
    readonly type: ProblemType,
    detail: string,
    options: ProblemOptions = {},
  ) {
    const { stackTraceLimit } = Error;
    // Its stack is not used, and takes as long as the rest of a refusal: what is logged is the cause.
    Error.stackTraceLimit = 0;
    super(detail, { cause: options.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.headers = options.headers ?? {};
    this.errors = options.errors;
  }
}
