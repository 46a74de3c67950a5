import { hideCredentials } from '../auth/hide-credentials.js';
import { encodePath } from './percent-encoding.js';
import type { RequestFault, Problem } from './problem.js';
import { problemTypeUri } from './problem-type.js';

/** Media type of every error answer (RFC 9457). */
export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/** The JSON of a problem (RFC 9457, section 3.1), with `requestId` and `errors` as extension members. */
export interface ProblemBody {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  requestId: string;
  errors?: readonly RequestFault[];
}

/**
 * The body that answers a problem.
 *
 * @param instance - path of the request, without its query: queries can carry secrets
 * @param requestId - the id under which the log tells more
 */
export function problemBody(problem: Problem, instance: string, requestId: string): ProblemBody {
  return {
    type: problemTypeUri(problem.type),
    title: problem.type.title,
    status: problem.type.status,
    detail: hideCredentials(problem.message),
    instance: hideCredentials(encodePath(instance)),
    requestId,
    ...(problem.errors && { errors: problem.errors }),
  };
}

/** The same as it is sent. What clients put into paths and names comes back in it, but no credential does. */
export function problemJson(problem: Problem, instance: string, requestId: string): string {
  const body = problemBody(problem, instance, requestId);
  // Of the texts and not of the JSON, where a letter before a JWT may be half of an escape.
  return problem.errors
    ? JSON.stringify(body, (_name, value: unknown) => (typeof value === 'string' ? hideCredentials(value) : value))
    : JSON.stringify(body);
}
