import { createRequire } from 'node:module';
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { collectDefaultMetrics } from 'prom-client';
import type { Metrics } from './metrics.js';

/** Adds prom-client's metrics of the process and of Node, and what alerts need beside them. */
export function addProcessMetrics(metrics: Metrics): void {
  const { registry } = metrics;
  collectDefaultMetrics({ register: registry });
  for (const { name } of registry.getMetricsAsArray()) {
    // Active resources take time for each connection, under names that Prometheus discourages; the version is in items_build_info.
    if (/^nodejs_(?:active_|version_)/.test(name)) registry.removeSingleMetric(name);
  }
  metrics.gauge(
    { name: 'nodejs_heap_size_limit_bytes', help: 'Heap size at which the process ends' },
    () => getHeapStatistics().heap_size_limit,
  );
  metrics.gauge(
    { name: 'items_memory_limit_bytes', help: "Memory that the process may have: the container's limit, or all of the machine" },
    // Without a limit, Node gives 0 or a number beyond all memory.
    () => Math.min(process.constrainedMemory() || Infinity, totalmem()),
  );
  const { version } = createRequire(import.meta.url)('#package.json') as { version: string };
  const labels = { version: [version], node: [process.version] };
  metrics.gauge({ name: 'items_build_info', help: 'Always 1, with the versions of the service and of Node', labels }, () => 1);
}
