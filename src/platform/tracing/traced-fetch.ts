import { currentSpan } from './current-span.js';
import { workIn } from './traced.js';

/**
 * `fetch` for calls of other services: shows the call as a span in the trace of the request that it is made for, and hands the trace on
 * to the other service (`traceparent`, `tracestate`). Without traces it is `fetch`.
 *
 * @param url - whose user, password, query and fragment no trace shows
 */
export function tracedFetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
  const method = init.method?.toUpperCase() ?? 'GET';
  const span = currentSpan()?.begin(method, 'client');
  if (!span) {
    return fetch(url, init);
  }
  return workIn(span, async () => {
    const { origin, pathname, hostname, port, protocol } = new URL(url);
    span.set({
      'http.request.method': method,
      'url.full': origin + pathname,
      'server.address': hostname,
      'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    });
    const headers = new Headers(init.headers);
    Object.entries(span.headers()).forEach(([name, value]) => {
      headers.set(name, value);
    });
    const response = await fetch(url, { ...init, headers });
    span.set({ 'http.response.status_code': response.status });
    if (response.status >= 400) {
      span.fail(String(response.status));
    }
    return response;
  });
}
