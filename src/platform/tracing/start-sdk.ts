import { AsyncLocalStorage } from 'node:async_hooks';
import { hostname } from 'node:os';
import { Logger } from '@nestjs/common';
import { context, diag, DiagLogLevel, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import * as sdk from '@opentelemetry/sdk-trace';
import type { Configuration } from '../config/configuration.js';
import { SERVICE_NAME, SERVICE_VERSION } from '../service/service.js';
import { onceAMinute } from '../time/once-a-minute.js';

/** Starts the OpenTelemetry SDK. The exporter and the resource read their settings from the environment. */
export function startSdk(settings: Configuration, exporter: sdk.SpanExporter = new OTLPTraceExporter()) {
  const resource = resourceFromAttributes({
    'service.name': SERVICE_NAME,
    'service.version': SERVICE_VERSION,
    'service.instance.id': `${hostname()}:${process.pid}`,
  });
  const provider = new sdk.TracerProvider({
    resource: defaultResource()
      .merge(resource)
      .merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] })),
    sampler: samplerOf(settings),
    spanLimits: { attributeValueLengthLimit: 4096 },
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter })],
  });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  logWarnings();
  return provider;
}

function samplerOf({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio }: Configuration): sdk.Sampler {
  const kind = name.replace('parentbased_', '');
  const always = { always_on: new sdk.AlwaysOnSampler(), always_off: new sdk.AlwaysOffSampler() }[kind];
  const root = always ?? new sdk.TraceIdRatioBasedSampler(ratio);
  return kind === name ? root : new sdk.ParentBasedSampler({ root });
}

/**
 * Logs the SDK's warnings, detached from the request whose span completes a batch, and once a minute: each batch fails while
 * the collector is away.
 */
function logWarnings(): void {
  const logger = new Logger('Tracing');
  const isDue = onceAMinute(1);
  const warn = AsyncLocalStorage.bind((err: unknown) => {
    if (isDue('')) {
      logger.warn({ msg: 'traces not exported', err });
    }
  });
  setGlobalErrorHandler(warn);
  diag.setLogger({ error: warn, warn, info: warn, debug: warn, verbose: warn }, DiagLogLevel.WARN);
}
