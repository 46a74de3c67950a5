import { Problem } from '../http/problem.js';
import { currentSpan, runIn } from './current-span.js';
import type { Attributes, OpenSpan, Span } from './span.js';

const NO_SPAN: Span = { set: (_attributes: Attributes) => undefined };

/**
 * Shows some work as a span of its own in the trace of the request that it is done for: what takes long, or is worth counting. Without
 * traces it does the work and nothing else.
 *
 * @param name - one of few, whatever clients send
 * @param work - may tell its span what it found. If it fails, so has the span, with the name of the error; what the client is to blame for
 *   is no failure
 */
export function traced<T>(name: string, work: (span: Span) => Promise<T>): Promise<T> {
  const span = currentSpan()?.begin(name, 'internal');
  return span ? workIn(span, work) : work(NO_SPAN);
}

/** Does some work in a span, which ends with it. */
export async function workIn<T>(span: OpenSpan, work: (span: OpenSpan) => Promise<T>): Promise<T> {
  try {
    return await runIn(span, () => work(span));
  } catch (error) {
    const type = failureOf(error);
    if (type !== undefined) {
      span.fail(type);
    }
    throw error;
  } finally {
    span.end();
  }
}

/** The same function, whose work counts as done for whoever calls this, from wherever it is called. */
export function asPartOfThis<Arguments extends unknown[], T>(work: (...given: Arguments) => T): (...given: Arguments) => T {
  const span = currentSpan();
  return span ? (...given) => runIn(span, () => work(...given)) : work;
}

function failureOf(error: unknown): string | undefined {
  if (error instanceof Problem) {
    return error.type.status >= 500 ? error.type.name : undefined;
  }
  return Error.isError(error) ? error.name : typeof error;
}
