import type { IncomingHttpHeaders } from 'node:http';
import { SpanKind, type Tracer as OpenTelemetry } from '@opentelemetry/api';
import type { TracerProvider } from '@opentelemetry/sdk-trace';
import type { Tracer } from '../tracer.js';
import { OpenTelemetrySpan } from './open-telemetry-span.js';
import { contextOf } from './trace-headers.js';

/** Makes spans of OpenTelemetry. */
export class OpenTelemetryTracer implements Tracer {
  constructor(
    private readonly provider: TracerProvider,
    private readonly tracer: OpenTelemetry,
  ) {}

  beginRequest(headers: IncomingHttpHeaders): OpenTelemetrySpan {
    // Its name comes with its route.
    return OpenTelemetrySpan.begin(this.tracer, 'HTTP', { kind: SpanKind.SERVER }, contextOf(headers));
  }

  flush(): Promise<void> {
    return this.provider.forceFlush();
  }

  stop(): Promise<void> {
    return this.provider.shutdown();
  }
}
