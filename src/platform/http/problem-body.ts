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
 * The body that answers a problem. What clients put into paths and names comes back in it, but no credential does: these are looked
 * for in the texts and not in the JSON, where a letter before a JWT may be half of an escape.
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
    ...(problem.errors && { errors: problem.errors.map(withoutCredentials) }),
  };
}

/** The same as it is sent. */
export function problemJson(problem: Problem, instance: string, requestId: string): string {
  return JSON.stringify(problemBody(problem, instance, requestId));
}

function withoutCredentials(fault: RequestFault): RequestFault {
  return Object.fromEntries(Object.entries(fault).map(([name, value]) => [name, hidden(value)])) as unknown as RequestFault;
}

function hidden(value: unknown): unknown {
  return typeof value === 'string' ? hideCredentials(value) : value;
}
