import { context, INVALID_SPAN_CONTEXT, propagation, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { hideCredentials } from '../auth/hide-credentials.js';
import { SERVICE_NAME } from '../config/configuration.js';
import { Problem } from '../http/problem.js';

/** The active span; undefined if it is not sampled or has ended, so that work after the response is not traced. */
export function currentSpan(): Span | undefined {
  const span = trace.getActiveSpan();
  return span?.isRecording() === true ? span : undefined;
}

/**
 * Runs work in a span of the current trace, or without a span if the trace is not sampled.
 *
 * @param name - low cardinality, without client input
 * @param work - may set attributes, but not values of rows, filters or bodies. If it throws, the span fails
 */
export async function traced<T>(name: string, work: (span: Span) => Promise<T>, kind = SpanKind.INTERNAL): Promise<T> {
  if (!currentSpan()) {
    return work(trace.wrapSpanContext(INVALID_SPAN_CONTEXT));
  }
  return trace.getTracer(SERVICE_NAME).startActiveSpan(name, { kind }, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      if (!(error instanceof Problem) || error.type.status >= 500) {
        failSpan(span, error);
      }
      throw error;
    } finally {
      span.end();
    }
  });
}

/** `fetch` for other services, in a client span that the other service continues (`traceparent`). */
export function tracedFetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
  const method = init.method?.toUpperCase() ?? 'GET';
  const call = async (span: Span) => {
    const { origin, pathname, hostname, port, protocol } = new URL(url);
    span.setAttributes({
      'http.request.method': method,
      'url.full': hideCredentials(origin + pathname),
      'server.address': hostname,
      'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    });
    const headers = Object.fromEntries(new Headers(init.headers));
    propagation.inject(context.active(), headers);
    const response = await fetch(url, { ...init, headers });
    span.setAttribute('http.response.status_code', response.status);
    if (response.status >= 400) {
      failSpan(span, { name: String(response.status) });
    }
    return response;
  };
  return traced(method, call, SpanKind.CLIENT);
}

/** Marks a span as failed with the error's code or name, without its message, which can quote values. */
export function failSpan(span: Span, error: unknown): void {
  const { code, name } = (error instanceof Problem ? error.type : Object(error)) as { code?: unknown; name?: string };
  span.setAttribute('error.type', typeof code === 'string' ? code : (name ?? typeof error));
  span.setStatus({ code: SpanStatusCode.ERROR });
}
