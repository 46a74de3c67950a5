import { type Client, createClient, createConfig } from './generated/client/index.js';
import { ProblemError } from './problem-error.js';
import { type RetryOptions, retryingFetch } from './retrying-fetch.js';

export type { Client };

/** Address, credential and retries of a client. */
export interface ItemsClientOptions extends RetryOptions {
  /** Origin of the service, such as `https://items.example`, without the version. */
  baseUrl: string;
  /** Access token, or a function that returns one, called once per request, so that tokens can rotate. */
  token: string | (() => string | Promise<string>);
  /** Sends one attempt: pass on the request and the signal. Default: `globalThis.fetch`. */
  fetch?: typeof fetch;
}

/**
 * Creates the `client` option of the generated operations. A request
 *
 * - is retried as {@link RetryOptions} says. If the operation takes an `Idempotency-Key`, all attempts have the same one: that of
 *   `headers`, or a random one;
 * - rejects with a {@link ProblemError} for an error response, with the error of `fetch` (usually a `TypeError`) without a response,
 *   with a `SyntaxError` for a success that is not JSON (unless `parseAs` is set), and with the reason of an aborted `signal`. With
 *   `throwOnError: false`, it resolves with `error`, which contains the problem details.
 */
export function createItemsClient({
  baseUrl,
  token,
  fetch: send = globalThis.fetch,
  ...retries
}: ItemsClientOptions): Client {
  const currentToken = () => (typeof token === 'function' ? token() : token);
  const client = createClient(
    createConfig({
      baseUrl,
      auth: ({ type }) => (type === 'http' ? currentToken() : randomKey()),
      fetch: retryingFetch(send, retries),
      parseAs: 'json',
      // All options reach `new Request()`, where Deno has another `client`: hey-api's issue 4177.
      requestValidator: (options) => Promise.resolve(delete (options as { client?: Client }).client),
      throwOnError: true,
    }),
  );
  client.interceptors.error.use((error, response, _request, { throwOnError }) =>
    !response || error instanceof Error || throwOnError === false ? error : ProblemError.from(response, error),
  );
  return client;
}

/** `crypto.randomUUID` does not exist on pages without TLS. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
