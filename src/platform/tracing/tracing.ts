import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { context, propagation, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { TracerProvider } from '@opentelemetry/sdk-trace';
import type { Request } from 'express';
import { hideCredentials } from '../errors/redaction.js';
import { Configuration, CUT_OFF } from '../config/configuration.js';
import { SERVICE_NAME } from '../service/service.js';
import { Problem } from '../problems/problem.js';
import { withTimeout } from '../time/duration.js';

/** The span of work in a trace that is not sampled: it ignores attributes. */
const NO_SPAN = trace.wrapSpanContext({ traceId: '', spanId: '', traceFlags: 0 });

/** Exports spans to a collector, if one is configured. Otherwise, the OpenTelemetry SDK is not loaded. */
@Injectable()
export class Tracing implements OnApplicationShutdown {
  private sdk: TracerProvider | undefined;

  constructor(private readonly configuration: Configuration) {}

  async start(): Promise<void> {
    const { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_SDK_DISABLED } = this.configuration;
    const endpoint = OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? OTEL_EXPORTER_OTLP_ENDPOINT;
    if (endpoint !== undefined && !OTEL_SDK_DISABLED) {
      const { startSdk } = await import('./start-sdk.js');
      this.sdk = startSdk(this.configuration);
    }
  }

  /** Exports the last spans, in at most half of the time between `CUT_OFF` and the exit. */
  async onApplicationShutdown(): Promise<void> {
    const timeLimit = (this.configuration.SHUTDOWN_TIMEOUT * (1 - CUT_OFF) * 1000) / 2;
    await withTimeout(timeLimit, this.sdk?.shutdown() ?? Promise.resolve()).catch((err: unknown) => {
      new Logger('Tracing').warn({ msg: 'last traces not exported', err });
    });
  }
}

/** Serves a request in a server span that continues the caller's trace. Without the SDK, there is no span. */
export function inRequestSpan({ method, headers }: Request, serve: (span?: Span) => void): void {
  // No fields means no propagator, and so no SDK.
  if (propagation.fields().length === 0) {
    serve();
    return;
  }
  // Without credentials, because `tracestate` is exported and propagated.
  const tracestate = hideCredentials(String(headers['tracestate'] ?? ''));
  const caller = propagation.extract(ROOT_CONTEXT, { traceparent: headers['traceparent'], tracestate });
  const span = trace.getTracer(SERVICE_NAME).startSpan(method, { kind: SpanKind.SERVER }, caller);
  context.with(trace.setSpan(caller, span), serve, undefined, span);
}

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
  return currentSpan() ? withSpan(name, work, kind) : work(NO_SPAN);
}

/** As {@link traced}, for work outside of requests, which begins a trace of its own. */
export function withSpan<T>(name: string, work: (span: Span) => Promise<T>, kind = SpanKind.INTERNAL): Promise<T> {
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

/** The server that executes a statement; empty for the embedded database. */
interface Server {
  readonly database?: string | undefined;
  readonly host?: string;
  readonly port?: number;
}

/** Creates a span for a SQL statement of the current request. @returns a function that ends it, with the error if any */
export function traceStatement(statement: string, { database, host, port }: Server): (error?: unknown) => void {
  if (!currentSpan()) {
    return () => undefined;
  }
  const description = describeStatement(statement);
  const attributes = { ...description, 'db.namespace': database, 'server.address': host, 'server.port': port };
  const options = { kind: SpanKind.CLIENT, attributes };
  const span = trace.getTracer(SERVICE_NAME).startSpan(description['db.query.summary'], options);
  return (error) => {
    if (error !== undefined) {
      failSpan(span, error);
    }
    span.end();
  };
}

/** A statement's attributes. Its text has `?` for numbers and ends at the first string or comment: values are parameters. */
export function describeStatement(statement: string) {
  const text = statement.replace(/(?:'|--|\/\*|\$(?!\d)).*/s, '?').replaceAll(/(?<![\w$])\d[\w.]*/g, '?');
  const operation = /[a-z]+/i.exec(text)?.[0].toUpperCase() ?? '';
  const table = /\b(?:from|into|update|table)\s+(?:only\s+)?"?([a-z_]\w*)/i.exec(text)?.[1];
  return {
    'db.system.name': 'postgresql',
    'db.operation.name': operation,
    'db.query.summary': table === undefined ? operation : `${operation} ${table}`,
    'db.query.text': text,
  };
}
