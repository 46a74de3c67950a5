import type { IncomingHttpHeaders } from 'node:http';
import { Injectable, Logger, type OnApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import { Configuration, CUT_OFF } from '../config/configuration.js';
import { StatementObservers } from '../database/statement-observers.js';
import { within } from '../time/within.js';
import type { OpenSpan } from './span.js';
import { traceStatement } from './trace-statement.js';
import type { Tracer } from './tracer.js';

/** Of the time between the last request and the exit, the part that the last spans may take to be exported. */
const PART_OF_REST = 0.5;

/** Makes traces of requests, if `OTEL_EXPORTER_OTLP_ENDPOINT` says where to send them. Otherwise nothing of OpenTelemetry is loaded. */
@Injectable()
export class Tracing implements OnApplicationShutdown, OnModuleDestroy {
  private readonly logger = new Logger('Tracing');
  private tracer: Tracer | undefined;

  constructor(
    private readonly configuration: Configuration,
    private readonly statements: StatementObservers,
  ) {}

  /**
   * Begins to trace. The collector may be away.
   *
   * @param version - of the service
   */
  async start(version: string): Promise<void> {
    const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SDK_DISABLED: isDisabled } = this.configuration;
    if (endpoint === undefined || isDisabled) {
      return;
    }
    const { startTracer } = await import('./opentelemetry/start-tracer.js');
    this.tracer = startTracer(this.configuration, version, (failure) => {
      if (failure === undefined) {
        this.logger.log({ msg: 'traces exported' });
      } else {
        this.logger.warn({ msg: 'traces not exported', err: failure });
      }
    });
    this.statements.add(traceStatement);
  }

  /** Begins the span of a request: in the trace that its headers name, or in a new one. Undefined without traces. */
  beginRequest(headers: IncomingHttpHeaders): OpenSpan | undefined {
    return this.tracer?.beginRequest(headers);
  }

  /** Exports what has ended until now, or fails. */
  async flush(): Promise<void> {
    await this.tracer?.flush();
  }

  /** Leaves little for the end: this is the first to be called when the service is told to end. */
  onModuleDestroy(): void {
    // That it fails is told elsewhere.
    this.flush().catch(() => undefined);
  }

  /** Exports what the last requests have left. A collector that does not answer must not hold up the end of the process. */
  async onApplicationShutdown(): Promise<void> {
    const patience = this.configuration.SHUTDOWN_TIMEOUT * (1 - CUT_OFF) * PART_OF_REST * 1000;
    if (this.tracer) {
      await within(patience, this.tracer.stop()).catch((error: unknown) => {
        this.logger.warn({ msg: 'last traces not exported', err: error });
      });
    }
  }
}
