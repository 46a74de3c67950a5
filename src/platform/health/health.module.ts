import { Global, Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { Database } from '../database/database.js';
import { HealthController } from './health.controller.js';
import { HealthIndicators } from './health-indicators.js';

/** `/livez` and `/readyz`. Other modules inject `HealthIndicators` to add checks. */
@Global()
@Module({
  imports: [TerminusModule],
  controllers: [HealthController],
  providers: [HealthIndicators],
  exports: [HealthIndicators, TerminusModule],
})
export class HealthModule {
  constructor(indicators: HealthIndicators, database: Database) {
    indicators.add('database', () => database.check());
  }
}
