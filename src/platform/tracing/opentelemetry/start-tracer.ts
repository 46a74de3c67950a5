import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Configuration } from '../../config/configuration.js';
import { parseKeyValues } from '../../config/key-values.js';
import { SERVICE_NAME } from '../../config/service-name.js';
import type { Tracer } from '../tracer.js';
import { OpenTelemetryTracer } from './open-telemetry-tracer.js';
import { type ExportListener, ReportingExporter } from './reporting-exporter.js';
import { resourceOf } from './resource.js';
import { samplerOf } from './sampler.js';

/** Longest text that a span keeps, in characters. */
const LONGEST_TEXT = 4096;

/** Spans that wait for their export at most; what comes then is dropped. */
const QUEUE = 2048;

/**
 * Starts OpenTelemetry, for this application alone: nothing of it is registered for the whole process.
 *
 * @param version - of the service
 * @param onChange - told whenever exporting begins to work, and to fail
 */
export function startTracer(configuration: Configuration, version: string, onChange: ExportListener): Tracer {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint = '', OTEL_EXPORTER_OTLP_HEADERS: headers = '' } = configuration;
  const exporter = new OTLPTraceExporter({ url: tracesUrl(endpoint), headers: { ...parseKeyValues(headers) } });
  const provider = new TracerProvider({
    resource: resourceOf(configuration, version),
    sampler: samplerOf(configuration),
    spanLimits: { attributeValueLengthLimit: LONGEST_TEXT },
    spanProcessors: [new BatchSpanProcessor({ exporter: new ReportingExporter(exporter, onChange), maxQueueSize: QUEUE })],
  });
  return new OpenTelemetryTracer(provider, provider.getTracer(SERVICE_NAME, version));
}

/** Where a collector takes traces (OpenTelemetry Protocol Exporter, "Endpoint URLs for OTLP/HTTP"). */
function tracesUrl(endpoint: string): string {
  return `${endpoint.replace(/\/$/, '')}/v1/traces`;
}
