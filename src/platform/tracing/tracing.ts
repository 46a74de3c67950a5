import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { TracerProvider } from '@opentelemetry/sdk-trace';
import { Configuration, CUT_OFF } from '../config/configuration.js';
import { StatementObservers } from '../database/database-metrics.js';
import { within } from '../time/within.js';
import { traceStatement } from './trace-statement.js';

/** Exports spans to `OTEL_EXPORTER_OTLP_ENDPOINT`. If that is not set, the SDK of OpenTelemetry is not loaded. */
@Injectable()
export class Tracing implements OnApplicationShutdown {
  private sdk: TracerProvider | undefined;

  constructor(
    private readonly configuration: Configuration,
    statements: StatementObservers,
  ) {
    statements.add(traceStatement);
  }

  /** @param version - of the service */
  async start(version: string): Promise<void> {
    const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SDK_DISABLED: isDisabled } = this.configuration;
    if (endpoint !== undefined && !isDisabled) {
      const { startSdk } = await import('./start-sdk.js');
      this.sdk = startSdk(this.configuration, version);
    }
  }

  /** Exports the last spans, within half of the time between the last request and the exit. */
  async onApplicationShutdown(): Promise<void> {
    const timeLimit = (this.configuration.SHUTDOWN_TIMEOUT * (1 - CUT_OFF) * 1000) / 2;
    await within(timeLimit, this.sdk?.shutdown() ?? Promise.resolve()).catch((error: unknown) => {
      new Logger('Tracing').warn({ msg: 'last traces not exported', err: error });
    });
  }
}
