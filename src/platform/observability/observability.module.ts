import { Global, Module } from '@nestjs/common';
import { Metrics } from './metrics.js';
import { MetricsPage } from './metrics-page.js';
import { MetricsServer } from './metrics-server.js';
import { RuntimeMetrics } from './runtime/runtime-metrics.js';

/** What the service tells of itself. */
@Global()
@Module({ providers: [Metrics, MetricsPage, MetricsServer, RuntimeMetrics], exports: [Metrics, MetricsServer] })
export class ObservabilityModule {}
