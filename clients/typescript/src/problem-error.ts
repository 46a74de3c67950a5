import type { Problem } from './generated/index.js';

/** An error response with its problem details (RFC 9457). */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';

  /**
   * @param problem - `type` identifies the kind of error, `errors` lists the faults of the request, `requestId` finds its log line
   * @param response - status and headers; the body has been read
   */
  constructor(
    readonly problem: Problem,
    readonly response: Response,
  ) {
    super(`${problem.status} ${problem.title}: ${problem.detail}`);
  }

  /** A proxy may respond with something else, such as HTML: the problem then has the type `about:blank`. */
  static from(response: Response, body: unknown): ProblemError {
    const { status, statusText: title, url: instance } = response;
    if (isProblem(body)) return new ProblemError(body, response);
    const detail = 'The response has no problem details.';
    return new ProblemError({ type: 'about:blank', title, status, detail, instance, requestId: '' }, response);
  }
}

function isProblem(body: unknown): body is Problem {
  return typeof body === 'object' && body !== null && 'type' in body && 'status' in body && typeof body.status === 'number';
}
