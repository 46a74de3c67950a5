import type { Problem } from './generated/index.js';

/** An answer that is no success, with its problem details (RFC 9457). */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';

  /**
   * @param problem - its `type` names the kind for programs, `errors` every fault of the request, `requestId` its line in the
   *   service's log
   * @param response - its status and headers; the body is read already
   */
  constructor(
    readonly problem: Problem,
    readonly response: Response,
  ) {
    super(`${problem.status} ${problem.title}: ${problem.detail}`);
  }

  /** Anything may come from what stands between, such as a page of HTML: that is a problem without a type of its own. */
  static from(response: Response, body: unknown): ProblemError {
    const { status, statusText: title, url: instance } = response;
    if (isProblem(body)) return new ProblemError(body, response);
    const detail = 'The answer has no problem details.';
    return new ProblemError({ type: 'about:blank', title, status, detail, instance, requestId: '' }, response);
  }
}

function isProblem(body: unknown): body is Problem {
  return typeof body === 'object' && body !== null && 'type' in body && 'status' in body && typeof body.status === 'number';
}
