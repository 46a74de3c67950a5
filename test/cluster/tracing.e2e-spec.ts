import { InMemorySpanExporter } from '@opentelemetry/sdk-trace';
import { readConfiguration } from '../../src/platform/config/read-configuration.js';
import { startSdk } from '../../src/platform/tracing/start-sdk.js';
import { startService } from '../support/service.js';

it('a trace shows that Redis decided', async () => {
  const exporter = new InMemorySpanExporter();
  const sdk = startSdk(readConfiguration({}), '1.0.0', exporter);
  const REDIS_KEY_PREFIX = `tracing-${process.pid}-${Date.now()}:`;
  const service = await startService({ REDIS_URL: process.env['TEST_REDIS_URL'], REDIS_KEY_PREFIX });
  expect((await service.api.list()).status).toBe(200);
  await sdk.forceFlush();
  const decision = exporter.getFinishedSpans().find(({ name }) => name === 'rate limit');
  expect(decision?.attributes).toEqual({ 'items.rate_limit.admitted': true, 'items.rate_limit.storage': 'redis' });
  await service.stop();
});
