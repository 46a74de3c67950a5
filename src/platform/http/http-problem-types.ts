import { STATUS_CODES } from 'node:http';
import { defineProblemType, type ProblemType } from './problem-type.js';

export const badRequest = defineProblemType({
  name: 'bad-request',
  status: 400,
  title: 'Bad request',
  remedy: 'The request line, a header or the URL is not valid HTTP. Check what your HTTP client sends on the wire.',
});

export const invalidBody = defineProblemType({
  name: 'invalid-body',
  status: 400,
  title: 'Invalid body',
  remedy:
    'The request body is not a valid JSON object for this operation. Each entry of `errors` points at one fault (`pointer`, a JSON Pointer), names it (`code`) and says what to write instead (`detail`). Fix all of them and send the request again.',
});

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

export const methodNotAllowed = defineProblemType({
  name: 'method-not-allowed',
  status: 405,
  title: 'Method not allowed',
  remedy: 'The path exists, but not with this method. The `Allow` header lists the methods that it has.',
});

export const requestTimeout = defineProblemType({
  name: 'request-timeout',
  status: 408,
  title: 'Request timeout',
  remedy: 'The request did not arrive whole in time. Send it again, faster.',
});

export const contentTooLarge = defineProblemType({
  name: 'content-too-large',
  status: 413,
  title: 'Content too large',
  remedy: 'The request body is larger than 64 KiB. Send less.',
});

export const headerFieldsTooLarge = defineProblemType({
  name: 'header-fields-too-large',
  status: 431,
  title: 'Request header fields too large',
  remedy: 'The request line and headers together are larger than 16 KiB. Send fewer or shorter headers, or a shorter URL.',
});

export const internalError = defineProblemType({
  name: 'internal-error',
  status: 500,
  title: 'Internal error',
  remedy: 'The service failed. Retrying may help; if it does not, report the `requestId`, under which the log tells the cause.',
});

export const serviceUnavailable = defineProblemType({
  name: 'service-unavailable',
  status: 503,
  title: 'Service unavailable',
  remedy: 'The service or its database cannot answer now. Retry after the number of seconds in the `Retry-After` header.',
});

const byStatus = new Map(
  [badRequest, notFound, methodNotAllowed, contentTooLarge, internalError, serviceUnavailable].map((type) => [type.status, type]),
);

/** The type of an error of which only the status is known: `about:blank` (RFC 9457, section 4.2.1) if there is no other. */
export function typeOfStatus(status: number): ProblemType {
  return byStatus.get(status) ?? { name: 'about:blank', status, title: STATUS_CODES[status] ?? 'Error', remedy: '' };
}
