/** When a call is sent again, and how long it may take. */
export interface RetryOptions {
  /** How often one call is sent again at most. 5 when absent. */
  retries?: number;
  /**
   * Milliseconds that one call may wait between its attempts, all together. A wait that would take longer does not begin: the
   * last answer or error is then the outcome at once. 90,000 when absent. Bound the attempts themselves with a `signal`.
   */
  maxWait?: number;
}

/** Timers take no longer, in milliseconds. */
const LONGEST = 2 ** 31 - 1;
const UNCERTAIN = new Set([502, 503, 504]);
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

/**
 * Sends again what was refused for now (429) and, where a repeat does nothing more, what may or may not have been carried out:
 * no or half an answer, 502, 503, 504. It does nothing more with an idempotent method (RFC 9110, section 9.2.2) or an
 * `Idempotency-Key`. All attempts have the same headers and body.
 *
 * A wait is as long as `Retry-After` says, at least, plus a random part of 0.5, 1, 2, 4 and then 8 seconds, so that clients
 * that were refused together do not come back together.
 */
export function retryingFetch(send: typeof fetch, { retries = 5, maxWait = 90_000 }: RetryOptions): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const caller = input instanceof Request ? input : request;
    const isRepeatable = IDEMPOTENT.has(request.method) || request.headers.has('Idempotency-Key');
    let waited = 0;
    for (let attempt = 0; ; attempt += 1) {
      const [outcome] = await Promise.allSettled([receive(send, request.clone(), caller.signal)]);
      const answer = outcome.status === 'fulfilled' ? outcome.value : undefined;
      const isTemporary = answer?.status === 429 || (isRepeatable && (!answer || UNCERTAIN.has(answer.status)));
      const wait = retryAfter(answer) + Math.random() * Math.min(500 * 2 ** attempt, 8000);
      waited += wait;
      if (!isTemporary || attempt >= retries || waited > Math.min(maxWait, LONGEST) || caller.signal.aborted) {
        if (outcome.status === 'rejected') throw outcome.reason;
        return outcome.value;
      }
      void answer?.body?.cancel().catch(() => undefined);
      await sleep(wait, caller.signal);
    }
  };
}

/**
 * An answer that breaks off counts as none: JSON is therefore read to its end, of a copy.
 *
 * @param signal - the caller's own: Node's garbage collector cuts off that of a cloned request
 */
async function receive(send: typeof fetch, request: Request, signal: AbortSignal): Promise<Response> {
  const answer = await send(request, { signal });
  if (answer.headers.get('Content-Type')?.includes('json')) await answer.clone().arrayBuffer();
  return answer;
}

/** Milliseconds, of seconds or an HTTP-date (RFC 9110, section 10.2.3); 0 when it says nothing that can be understood. */
function retryAfter(answer: Response | undefined): number {
  const value = answer?.headers.get('Retry-After') ?? '';
  return /^\d+$/.test(value) ? Number(value) * 1000 : Math.max(0, Date.parse(value) - Date.now()) || 0;
}

/** The listener goes with its signal, which is that of one request. */
function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
