import { AsyncLocalStorage } from 'node:async_hooks';
import type { OpenSpan } from './span.js';

const storage = new AsyncLocalStorage<OpenSpan>();

/**
 * The span that the running code is part of. Undefined without traces, outside of requests, and once the request has been answered:
 * what goes on then, in a timer for example, is no part of its trace.
 */
export function currentSpan(): OpenSpan | undefined {
  const span = storage.getStore();
  return span?.isOver === false ? span : undefined;
}

/** For log lines: where to find the trace that the running code belongs to. */
export function currentTrace(): { traceId: string; spanId: string } | undefined {
  const span = storage.getStore();
  return span && { traceId: span.traceId, spanId: span.spanId };
}

/** Makes a span the current one of some work, and of all that it gives rise to. */
export function runIn<T>(span: OpenSpan, work: () => T): T {
  return storage.run(span, work);
}
