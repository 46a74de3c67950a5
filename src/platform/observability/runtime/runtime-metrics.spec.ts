import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Metrics } from '../metrics.js';
import { RuntimeMetrics } from './runtime-metrics.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Collections that an application has seen. */
async function seen({ registry }: Metrics): Promise<number> {
  collectGarbage();
  // They are told of a moment later.
  await delay(50);
  const { values } = (await registry.getSingleMetric('nodejs_gc_duration_seconds')?.get()) ?? { values: [] };
  const counts = (values as { metricName?: string; value: number }[]).filter(({ metricName }) => metricName?.endsWith('_count'));
  return counts.reduce((sum, { value }) => sum + value, 0);
}

it('watches from its start to its end, for each application by itself', async () => {
  const [first, second] = [new Metrics(), new Metrics()];
  const [watching, other] = [new RuntimeMetrics(first), new RuntimeMetrics(second)];
  expect(await seen(first)).toBe(0);
  watching.start();
  other.start();
  expect(await seen(first)).toBeGreaterThan(0);
  watching.onApplicationShutdown();
  const last = await seen(first);
  expect(await seen(first)).toBe(last);
  const others = await seen(second);
  expect(await seen(second)).toBeGreaterThan(others);
  other.onApplicationShutdown();
});
