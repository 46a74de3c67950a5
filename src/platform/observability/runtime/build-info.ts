import { readFileSync } from 'node:fs';
import type { Metrics } from '../metrics.js';

/** Beside `src`, and in the image beside `dist`. */
const PACKAGE = new URL('../../../../package.json', import.meta.url);

/** What runs here, as labels of a metric that is always 1: others can be joined with it. */
export function addBuildInfo(metrics: Metrics): void {
  const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string };
  const labels = { version: [version], node: [process.version] };
  metrics.gauge(
    { name: 'items_build_info', help: 'Always 1, with the versions of the service and of Node as labels', labels },
    () => 1,
  );
}
