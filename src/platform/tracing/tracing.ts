import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { context, propagation, ROOT_CONTEXT, type Span, SpanKind, trace } from '@opentelemetry/api';
import type { TracerProvider } from '@opentelemetry/sdk-trace';
import type { Request } from 'express';
import { DatabaseError } from 'pg';
import { hideCredentials } from '../auth/hide-credentials.js';
import { Configuration, CUT_OFF, SERVICE_NAME } from '../config/configuration.js';
import type { StatementObserver } from '../database/database-client.js';
import { StatementObservers } from '../database/database-metrics.js';
import { within } from '../time/duration.js';
import { currentSpan, failSpan } from './traced.js';

/** Quoted names, parameters, strings, comments and numbers, also unterminated (PostgreSQL manual, "Lexical Structure"). */
const LEXEMES =
  /"(?:[^"]|"")*(?:"|$)|\$\d+|(?:\be'(?:[^'\\]|\\.|'')*|'(?:[^']|'')*)(?:'|$)|\$(?<tag>(?:[a-z_]\w*)?)\$.*?(?:\$\k<tag>\$|$)|--[^\n]*|\/\*.*?(?:\*\/|$)|\b\d[\w.]*/gis;

/** Exports spans to `OTEL_EXPORTER_OTLP_ENDPOINT`. Without it, the OpenTelemetry SDK is not loaded. */
@Injectable()
export class Tracing implements OnApplicationShutdown {
  private sdk: TracerProvider | undefined;

  constructor(
    private readonly configuration: Configuration,
    statements: StatementObservers,
  ) {
    statements.add(traceStatement);
  }

  async start(serviceVersion: string): Promise<void> {
    const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SDK_DISABLED: isDisabled } = this.configuration;
    if (endpoint !== undefined && !isDisabled) {
      const { startSdk } = await import('./start-sdk.js');
      this.sdk = startSdk(this.configuration, serviceVersion);
    }
  }

  /** Exports the last spans, in at most half of the time between `CUT_OFF` and the exit. */
  async onApplicationShutdown(): Promise<void> {
    const timeLimit = (this.configuration.SHUTDOWN_TIMEOUT * (1 - CUT_OFF) * 1000) / 2;
    await within(timeLimit, this.sdk?.shutdown() ?? Promise.resolve()).catch((err: unknown) => {
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
  // `tracestate` is exported and propagated.
  const tracestate = hideCredentials(String(headers['tracestate'] ?? ''));
  const caller = propagation.extract(ROOT_CONTEXT, { traceparent: headers['traceparent'], tracestate });
  const span = trace.getTracer(SERVICE_NAME).startSpan(method, { kind: SpanKind.SERVER }, caller);
  context.with(trace.setSpan(caller, span), serve, undefined, span);
}

/** Creates a span for each SQL statement of the current request. */
const traceStatement: StatementObserver = (statement) => {
  if (!currentSpan()) {
    return () => undefined;
  }
  const attributes = describeStatement(statement);
  const options = { kind: SpanKind.CLIENT, attributes };
  const span = trace.getTracer(SERVICE_NAME).startSpan(attributes['db.query.summary'], options);
  return (error) => {
    if (error !== undefined) {
      failSpan(span, error);
      span.setAttribute('db.response.status_code', error instanceof DatabaseError ? error.code : undefined);
    }
    span.end();
  };
};

/** The attributes of a statement. Values and comments in its text are replaced by `?`. */
export function describeStatement(statement: string) {
  const text = statement.replaceAll(LEXEMES, (lexeme: string) => (/^(?:"|\$\d)/.test(lexeme) ? lexeme : '?'));
  const operation = /[a-z]+/i.exec(text)?.[0].toUpperCase() ?? '';
  const table = /\b(?:from|into|update|table)\s+(?:only\s+)?"?([a-z_]\w*)/i.exec(text)?.[1];
  return {
    'db.system.name': 'postgresql',
    'db.operation.name': operation,
    'db.query.summary': table === undefined ? operation : `${operation} ${table}`,
    'db.query.text': text,
  };
}
