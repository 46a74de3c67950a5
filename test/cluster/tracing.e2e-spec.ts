import { Tracing } from '../../src/platform/tracing/tracing.js';
import { Collector } from '../support/collector.js';
import { startService } from '../support/service.js';

it('shows in a trace that Redis decided', async () => {
  const collector = await Collector.start();
  const service = await startService({
    ...collector.environment,
    REDIS_URL: process.env['TEST_REDIS_URL'],
    REDIS_KEY_PREFIX: `tracing-${process.pid}-${Date.now()}:`,
  });
  expect((await service.api.list()).status).toBe(200);
  await service.app.get(Tracing).flush();
  const decision = collector.spans.find(({ name }) => name === 'rate limit');
  expect(decision?.attributes).toEqual({ 'items.rate_limit.admitted': true, 'items.rate_limit.storage': 'redis' });
  await service.stop();
  await collector.stop();
});
