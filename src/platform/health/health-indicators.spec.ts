import { Global, Module } from '@nestjs/common';
import { HealthIndicatorService, MemoryHealthIndicator } from '@nestjs/terminus';
import { Test } from '@nestjs/testing';
import { Database } from '../database/database.js';
import { Drain } from '../http/drain.js';
import { Metrics } from '../observability/metrics.js';
import { HealthIndicators } from './health-indicators.js';
import { HealthModule } from './health.module.js';

const drain = { hasBegun: false };

@Global()
@Module({
  providers: [
    Metrics,
    { provide: Database, useValue: { check: () => Promise.resolve() } },
    { provide: Drain, useValue: drain },
  ],
  exports: [Metrics, Database, Drain],
})
class Others {}

it('accepts Terminus indicators, which fail without an error', async () => {
  const module = await Test.createTestingModule({ imports: [Others, HealthModule] }).compile();
  const [indicators, memory] = [module.get(HealthIndicators), await module.resolve(MemoryHealthIndicator)];
  const cats = module.get(HealthIndicatorService).check('cats');
  let isAsleep = false;
  indicators.add('cats', () => Promise.resolve(isAsleep ? cats.down({ naps: 1 }) : cats.up({ naps: 0 })));
  indicators.add('memory', async () => memory.checkRSS('memory', 1));
  expect(await indicators.failing()).toEqual(['memory']);
  isAsleep = true;
  expect(await indicators.failing()).toEqual(['cats', 'memory']);
  drain.hasBegun = true;
  expect(await indicators.failing()).toEqual(['shutdown', 'cats', 'memory']);
  const metrics = await module.get(Metrics).registry.metrics();
  expect(metrics).toMatch(/^items_health_indicator_ok\{indicator="cats"\} 0$/m);
});
