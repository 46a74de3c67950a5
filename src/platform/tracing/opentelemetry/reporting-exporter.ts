import { AsyncLocalStorage } from 'node:async_hooks';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';

/** Told that exporting works, or why it fails. */
export type ExportListener = (failure?: Error) => void;

/** Tells once when its exporter begins to work, and to fail. What could not be exported is lost. */
export class ReportingExporter implements SpanExporter {
  private isFailing: boolean | undefined;
  /** Runs what goes on beyond the request whose span was the last one of its batch. */
  private readonly outside = AsyncLocalStorage.snapshot();

  constructor(
    private readonly exporter: SpanExporter,
    private readonly onChange: ExportListener,
  ) {}

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.outside(() => {
      this.exporter.export(spans, (result) => {
        this.report(result);
        done(result);
      });
    });
  }

  async forceFlush(): Promise<void> {
    await this.exporter.forceFlush?.();
  }

  shutdown(): Promise<void> {
    return this.exporter.shutdown();
  }

  private report({ code, error }: ExportResult): void {
    const isFailing = code !== ExportResultCode.SUCCESS;
    if (isFailing !== this.isFailing) {
      this.isFailing = isFailing;
      this.onChange(isFailing ? (error ?? new Error('The collector takes no spans.')) : undefined);
    }
  }
}
