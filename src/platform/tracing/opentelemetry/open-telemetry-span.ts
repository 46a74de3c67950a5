import {
  type Context,
  type Span,
  SpanKind as Kind,
  type SpanOptions,
  SpanStatusCode,
  TraceFlags,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import { hideCredentials } from '../../auth/hide-credentials.js';
import type { Attributes, OpenSpan, SpanKind } from '../span.js';
import { RequestClock } from './request-clock.js';
import { headersOf } from './trace-headers.js';

const KINDS: Readonly<Record<SpanKind, Kind>> = { client: Kind.CLIENT, internal: Kind.INTERNAL };

/** A span of OpenTelemetry. */
export class OpenTelemetrySpan implements OpenSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
  /** The span of the request. */
  private readonly root: OpenTelemetrySpan;
  private hasEnded = false;

  private constructor(
    private readonly tracer: Tracer,
    private readonly span: Span,
    private readonly context: Context,
    private readonly clock: RequestClock,
    root?: OpenTelemetrySpan,
  ) {
    const { traceId, spanId, traceFlags } = span.spanContext();
    this.traceId = traceId;
    this.spanId = spanId;
    this.isSampled = (traceFlags & TraceFlags.SAMPLED) !== 0;
    this.root = root ?? this;
  }

  /**
   * @param context - with the span that the new one is a part of, be it one of another service
   * @param root - the span of the request, if it is not this one
   */
  static begin(
    tracer: Tracer,
    name: string,
    options: SpanOptions,
    context: Context,
    root?: OpenTelemetrySpan,
  ): OpenTelemetrySpan {
    const clock = root?.clock ?? new RequestClock();
    const span = tracer.startSpan(name, { ...options, startTime: clock.now() }, context);
    return new OpenTelemetrySpan(tracer, span, trace.setSpan(context, span), clock, root);
  }

  get isOver(): boolean {
    return this.root.hasEnded;
  }

  begin(name: string, kind: SpanKind, known: Attributes = {}): OpenTelemetrySpan {
    return OpenTelemetrySpan.begin(this.tracer, name, { kind: KINDS[kind], attributes: known }, this.context, this.root);
  }

  set(attributes: Attributes): void {
    if (this.isSampled) {
      for (const [name, value] of Object.entries(attributes)) {
        if (value !== undefined) {
          this.span.setAttribute(name, typeof value === 'string' ? hideCredentials(value) : value);
        }
      }
    }
  }

  rename(name: string): void {
    this.span.updateName(name);
  }

  fail(errorType: string): void {
    this.set({ 'error.type': errorType });
    this.span.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(): void {
    this.hasEnded = true;
    this.span.end(this.clock.now());
  }

  headers(): Record<string, string> {
    return headersOf(this.context);
  }
}
