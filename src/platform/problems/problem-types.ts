import { STATUS_CODES } from 'node:http';

/** A kind of error that clients can rely on, with its documentation. */
export interface ProblemType {
  /** Last part of the `type` URI, kebab-case, stable within `/v1`. */
  readonly name: string;
  /** From 400 to 599. */
  readonly status: number;
  /** Short summary, the same for every occurrence. */
  readonly title: string;
  /** The cause and the fix for the client, in full sentences. */
  readonly remedy: string;
  /** A `detail` for the documentation, and for problems without one; by default the title, or a `constraint`'s remedy. */
  readonly example?: string;
  /** Name of a constraint or unique index whose violation gives this problem. */
  readonly constraint?: string;
}

const registry = new Map<string, ProblemType>();

/** Page that documents every type; the fragment is the type's name. */
export const PROBLEMS_PATH = '/docs/problems';

/**
 * Declares a problem type, which `/docs/problems` documents. Call it once at module level, next to the code that throws the
 * problem, and list it in the `problems` of each `@Operation` whose handler throws it.
 *
 * @throws Error if the name is taken
 */
export function defineProblemType(type: ProblemType): ProblemType {
  if (registry.has(type.name)) {
    throw new Error(`The problem type "${type.name}" is defined twice: give one of them another name.`);
  }
  registry.set(type.name, type);
  return type;
}

/** All problem types, sorted by status and name. */
export function problemTypes(): ProblemType[] {
  return [...registry.values()].toSorted((a, b) => a.status - b.status || (a.name < b.name ? -1 : 1));
}

/** The `type` member of a problem: a relative URI (RFC 9457, section 3.1.1) to its documentation, if it is documented. */
export function problemTypeUri({ name }: ProblemType, prefix = ''): string {
  return registry.has(name) ? `${prefix}${PROBLEMS_PATH}#${name}` : name;
}

export const badRequest = defineProblemType({
  name: 'bad-request',
  status: 400,
  title: 'Bad request',
  remedy: 'The request line, a header or the URL is not valid HTTP. Check what your HTTP client sends.',
  example: 'The request is not valid HTTP.',
});

export const invalidBody = defineProblemType({
  name: 'invalid-body',
  status: 400,
  title: 'Invalid body',
  remedy:
    'The request body is not valid for this operation. Each entry of `errors` has the position (`pointer`, a JSON ' +
    'Pointer), the kind (`code`) and the fix (`detail`) of one error. Fix all of them and retry.',
});

export const invalidParameters = defineProblemType({
  name: 'invalid-parameters',
  status: 400,
  title: 'Invalid parameters',
  remedy:
    'A query, path or header parameter is invalid, unknown or repeated. Each entry of `errors` has the name ' +
    '(`parameter`), the kind (`code`) and the fix (`detail`) of one error, and for a filter its position in ' +
    'characters (`start`, and `end`, exclusive). Percent-encode `&`, `+`, `#` and spaces in values.',
});

/** 404, for a row that does not exist: `throw new Problem(notFound, 'The book does not exist.')`. */
export const notFound = defineProblemType({
  name: 'not-found',
  status: 404,
  title: 'Not found',
  remedy:
    'This path, or the resource at it, does not exist. Paths are case-sensitive, without a trailing slash; ' +
    '`/openapi.json` lists them.',
  example: 'The path does not exist.',
});

export const methodNotAllowed = defineProblemType({
  name: 'method-not-allowed',
  status: 405,
  title: 'Method not allowed',
  remedy: 'The path does not support this method. The `Allow` header lists the methods that it supports.',
  example: 'The path allows GET, HEAD.',
});

export const requestTimeout = defineProblemType({
  name: 'request-timeout',
  status: 408,
  title: 'Request timeout',
  remedy: 'The request was not complete within the time limit. Retry on a faster connection.',
  example: 'The request did not arrive in time.',
});

export const contentTooLarge = defineProblemType({
  name: 'content-too-large',
  status: 413,
  title: 'Content too large',
  remedy: 'The request body is larger than the limit of the operation, which `detail` names. Send a smaller one.',
});

export const headerFieldsTooLarge = defineProblemType({
  name: 'header-fields-too-large',
  status: 431,
  title: 'Request header fields too large',
  remedy: 'The request line and headers are larger than 16 KiB together. Send fewer or shorter headers, or a shorter URL.',
  example: 'The request line and headers exceed 16 KiB.',
});

export const internalError = defineProblemType({
  name: 'internal-error',
  status: 500,
  title: 'Internal error',
  remedy:
    'The service failed. Retry; if it fails again, send the `requestId` to the operator, who finds the cause in the log.',
  example: 'The service failed.',
});

export const serviceUnavailable = defineProblemType({
  name: 'service-unavailable',
  status: 503,
  title: 'Service unavailable',
  remedy:
    'The service or its database is not available. Retry after the seconds in the `Retry-After` header. A change may ' +
    'have been made: retry it with the same `Idempotency-Key`.',
});

/** The types for errors of which only the status is known. */
const GENERAL_TYPES = [badRequest, notFound, methodNotAllowed, contentTooLarge, internalError, serviceUnavailable];

/** The type for a status: one of {@link GENERAL_TYPES}, or else `about:blank` (RFC 9457, section 4.2.1). */
export function typeOfStatus(status: number): ProblemType {
  const unknown = { name: 'about:blank', status, title: STATUS_CODES[status] ?? 'Error', remedy: '' };
  return GENERAL_TYPES.find((type) => type.status === status) ?? unknown;
}
