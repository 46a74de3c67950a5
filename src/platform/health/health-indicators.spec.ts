import { Global, Injectable, Module } from '@nestjs/common';
import { HealthIndicatorService, type HealthIndicatorResult, MemoryHealthIndicator } from '@nestjs/terminus';
import { Test } from '@nestjs/testing';
import { Database } from '../database/database.js';
import { Metrics } from '../observability/metrics.js';
import { HealthIndicators } from './health-indicators.js';
import { HealthModule } from './health.module.js';

@Injectable()
class CatsHealthIndicator {
  isAsleep = false;

  constructor(private readonly indicators: HealthIndicatorService) {}

  isHealthy(): Promise<HealthIndicatorResult<'cats'>> {
    const indicator = this.indicators.check('cats');
    return Promise.resolve(this.isAsleep ? indicator.down({ naps: 1 }) : indicator.up({ naps: 0 }));
  }
}

@Module({ providers: [CatsHealthIndicator] })
class CatsModule {
  constructor(indicators: HealthIndicators, cats: CatsHealthIndicator, memory: MemoryHealthIndicator) {
    indicators.add('cats', () => cats.isHealthy());
    indicators.add('memory', async () => memory.checkRSS('memory', 1));
  }
}

@Global()
@Module({
  providers: [Metrics, { provide: Database, useValue: { check: () => Promise.resolve() } }],
  exports: [Metrics, Database],
})
class Others {}

it('takes the indicators of Terminus, which fail without an error', async () => {
  const module = await Test.createTestingModule({ imports: [Others, HealthModule, CatsModule] }).compile();
  const indicators = module.get(HealthIndicators);
  expect(await indicators.failing()).toEqual(['memory']);
  module.get(CatsHealthIndicator).isAsleep = true;
  expect(await indicators.failing()).toEqual(['cats', 'memory']);
  const metrics = await module.get(Metrics).registry.metrics();
  expect(metrics).toMatch(/^items_health_indicator_ok\{indicator="cats"\} 0$/m);
});
