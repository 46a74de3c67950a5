import type { IncomingHttpHeaders } from 'node:http';
import type { OpenSpan } from './span.js';

/** What makes spans and exports them. */
export interface Tracer {
  /** Begins the span of a request: in the trace that its headers name, or in a new one. */
  beginRequest(headers: IncomingHttpHeaders): OpenSpan;
  /** Exports what has ended until now, or fails. */
  flush(): Promise<void>;
  /** The same for the last time, with what is under way. */
  stop(): Promise<void>;
}
