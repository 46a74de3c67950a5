import { createRequire } from 'node:module';
import type { Metrics } from '../metrics.js';

/** What runs here, as labels of a metric that is always 1: others can be joined with it. */
export function addBuildInfo(metrics: Metrics): void {
  const { version } = createRequire(import.meta.url)('#package.json') as { version: string };
  const labels = { version: [version], node: [process.version] };
  metrics.gauge(
    { name: 'items_build_info', help: 'Always 1, with the versions of the service and of Node as labels', labels },
    () => 1,
  );
}
