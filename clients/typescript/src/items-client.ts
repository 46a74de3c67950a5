import { type Client, createClient, createConfig } from './generated/client/index.js';
import { ProblemError } from './problem-error.js';
import { type RetryOptions, retryingFetch } from './retrying-fetch.js';

export type { Client };

/** How to reach the service, and as whom. */
export interface ItemsClientOptions extends RetryOptions {
  /** Origin of the service, such as `https://items.example`: paths begin with their version. */
  baseUrl: string;
  /** Access token, or what gives one: it is asked once for each call, so that a token may be exchanged while the client lives. */
  token: string | (() => string | Promise<string>);
  /** Sends one attempt, of which it gets a request and the caller's signal: pass both on. `globalThis.fetch` when absent. */
  fetch?: typeof fetch;
}

/**
 * Makes what the generated operations take as `client`. A call with it
 *
 * - is sent again as {@link RetryOptions} says, with one and the same `Idempotency-Key` where the operation takes one: that of
 *   its `headers`, else a random one;
 * - is rejected with a {@link ProblemError} for every other answer than a success, with the error of `fetch` (mostly a
 *   `TypeError`) when there was none, with a `SyntaxError` when a success is no JSON (unless the call has its own `parseAs`), and
 *   with the reason of its `signal` when that is aborted. With
 *   `throwOnError: false` it resolves with `error` instead, which holds the problem details as such.
 */
export function createItemsClient({ baseUrl, token, fetch: send = globalThis.fetch, ...retries }: ItemsClientOptions): Client {
  const currentToken = () => (typeof token === 'function' ? token() : token);
  const client = createClient(
    createConfig({
      baseUrl,
      auth: ({ type }) => (type === 'http' ? currentToken() : randomKey()),
      fetch: retryingFetch(send, retries),
      parseAs: 'json',
      throwOnError: true,
    }),
  );
  client.interceptors.error.use((error, response, _request, { throwOnError }) =>
    !response || error instanceof Error || throwOnError === false ? error : ProblemError.from(response, error),
  );
  return client;
}

/** Unlike `crypto.randomUUID`, this is there on pages without TLS, too. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
