import { STATUS_CODES } from 'node:http';
import { blankProblemType, defineProblemType, type ProblemType } from './problem-type.js';

/** The request itself cannot be understood: its line, headers or URL. */
export const badRequest = defineProblemType({
  name: 'bad-request',
  status: 400,
  title: 'Bad request',
  remedy: 'The request line, a header or the URL is not valid HTTP. Check what your HTTP client sends on the wire.',
});

/** The body breaks a rule. */
export const invalidBody = defineProblemType({
  name: 'invalid-body',
  status: 400,
  title: 'Invalid body',
  remedy:
    'The request body is not a valid JSON object for this operation. Each entry of `errors` points at one fault (`pointer`, a JSON Pointer), names it (`code`) and says what to write instead (`detail`). Fix all of them and send the request again.',
});

/** A query, path or header parameter breaks a rule. */
export const invalidParameters = defineProblemType({
  name: 'invalid-parameters',
  status: 400,
  title: 'Invalid parameters',
  remedy:
    'A query, path or header parameter is not valid, not known or given more than once. Each entry of `errors` names one (`parameter`), its fault (`code`) and what to write instead (`detail`); of a filter also the faulty part, in characters from its start (`start`, and `end`, which is exclusive). Percent-encode `&`, `+`, `#` and spaces in values.',
});

/** No such path. */
export const notFound = defineProblemType({
  name: 'not-found',
  status: 404,
  title: 'Not found',
  remedy: 'Nothing is at this path. Paths are case-sensitive and have no trailing slash; `/openapi.json` lists them.',
});

/** The path exists, but not for this method. */
export const methodNotAllowed = defineProblemType({
  name: 'method-not-allowed',
  status: 405,
  title: 'Method not allowed',
  remedy: 'The path exists, but not with this method. The `Allow` header lists the methods that it has.',
});

/** The request did not arrive in time. */
export const requestTimeout = defineProblemType({
  name: 'request-timeout',
  status: 408,
  title: 'Request timeout',
  remedy: 'The request did not arrive whole in time. Send it again, faster.',
});

/** The body is larger than the service reads. */
export const contentTooLarge = defineProblemType({
  name: 'content-too-large',
  status: 413,
  title: 'Content too large',
  remedy: 'The request body is larger than 64 KiB. Send less.',
});

/** The header section is larger than the service reads. */
export const headerFieldsTooLarge = defineProblemType({
  name: 'header-fields-too-large',
  status: 431,
  title: 'Request header fields too large',
  remedy: 'The request line and headers together are larger than 16 KiB. Send fewer or shorter headers, or a shorter URL.',
});

/** A fault of the service. */
export const internalError = defineProblemType({
  name: 'internal-error',
  status: 500,
  title: 'Internal error',
  remedy: 'The service failed. Retrying may help; if it does not, report the `requestId`, under which the log tells the cause.',
});

/** The service cannot answer now. */
export const serviceUnavailable = defineProblemType({
  name: 'service-unavailable',
  status: 503,
  title: 'Service unavailable',
  remedy: 'The service or its database cannot answer now. Retry after the number of seconds in the `Retry-After` header.',
});

const byStatus = new Map(
  [
    badRequest,
    notFound,
    methodNotAllowed,
    requestTimeout,
    contentTooLarge,
    headerFieldsTooLarge,
    internalError,
    serviceUnavailable,
  ].map((type) => [type.status, type]),
);

/** The type of an error of which only the status is known: `about:blank` (RFC 9457, section 4.2.1) if there is no other. */
export function typeOfStatus(status: number): ProblemType {
  return byStatus.get(status) ?? blankProblemType(status, STATUS_CODES[status] ?? 'Error');
}
