/** How often a request is retried, and for how long. */
export interface RetryOptions {
  /** Maximum number of retries. Default: 5. */
  retries?: number;
  /**
   * Maximum total wait between attempts, in milliseconds. A longer wait does not begin: the last response or error is the result.
   * Default: 90,000. Limit the attempts themselves with a `signal`.
   */
  maxWait?: number;
}

/** Maximum delay of a timer, in milliseconds. */
const LONGEST = 2 ** 31 - 1;
const UNCERTAIN = new Set([502, 503, 504]);
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

/**
 * Retries a 429. If a repetition is safe, it also retries a missing or broken response, 502, 503 and 504, after which the outcome is
 * unknown. Safe are idempotent methods (RFC 9110, section 9.2.2) and requests with an `Idempotency-Key`. All attempts have the same
 * headers and body.
 *
 * A wait is `Retry-After` plus a random part of up to 0.5, 1, 2, 4 and then 8 seconds, which spreads the retries of many clients.
 */
export function retryingFetch(send: typeof fetch, { retries = 5, maxWait = 90_000 }: RetryOptions): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const caller = input instanceof Request ? input : request;
    const isRepeatable = IDEMPOTENT.has(request.method) || request.headers.has('Idempotency-Key');
    let waited = 0;
    for (let attempt = 0; ; attempt += 1) {
      const [outcome] = await Promise.allSettled([receive(send, request.clone(), caller.signal)]);
      const response = outcome.status === 'fulfilled' ? outcome.value : undefined;
      const isTemporary = response?.status === 429 || (isRepeatable && (!response || UNCERTAIN.has(response.status)));
      const wait = retryAfter(response) + Math.random() * Math.min(500 * 2 ** attempt, 8000);
      waited += wait;
      if (!isTemporary || attempt >= retries || waited > Math.min(maxWait, LONGEST) || caller.signal.aborted) {
        if (outcome.status === 'rejected') throw outcome.reason;
        return outcome.value;
      }
      void response?.body?.cancel().catch(() => undefined);
      await sleep(wait, caller.signal);
    }
  };
}

/**
 * Rejects if the response breaks off, so a copy of JSON is read to its end.
 *
 * @param signal - that of the caller: Node's garbage collector may drop the signal of a cloned request
 */
async function receive(send: typeof fetch, request: Request, signal: AbortSignal): Promise<Response> {
  const response = await send(request, { signal });
  if (response.headers.get('Content-Type')?.includes('json')) await response.clone().arrayBuffer();
  return response;
}

/** Milliseconds from seconds or an HTTP-date (RFC 9110, section 10.2.3); 0 if it is absent or invalid. */
function retryAfter(response: Response | undefined): number {
  const value = response?.headers.get('Retry-After') ?? '';
  return /^\d+$/.test(value) ? Number(value) * 1000 : Math.max(0, Date.parse(value) - Date.now()) || 0;
}

/** The listener is not removed, because the signal belongs to one request. */
function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
