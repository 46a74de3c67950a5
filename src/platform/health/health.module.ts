import { Controller, Get, Global, Module, Req, VERSION_NEUTRAL } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import type { Request } from 'express';
import { Public } from '../auth/scopes.guard.js';
import { Database } from '../database/database.js';
import { serviceUnavailable } from '../problems/problem-types.js';
import { Problem } from '../problems/problem.js';
import { Hidden } from '../routes/operation.js';
import { HealthIndicators } from './health-indicators.js';

/** Kubernetes probes: `/livez` has no dependencies; `/readyz` reports whether the service accepts requests. */
@Public()
@Hidden()
@Controller({ version: VERSION_NEUTRAL })
class HealthController {
  constructor(private readonly indicators: HealthIndicators) {}

  @Get('livez')
  live(@Req() request: Request): { status: 'ok' } {
    request.isProbe = true;
    return { status: 'ok' };
  }

  @Get('readyz')
  async ready(@Req() request: Request): Promise<{ status: 'ok' }> {
    request.isProbe = true;
    const failing = await this.indicators.failing();
    if (failing.length > 0) {
      throw new Problem(serviceUnavailable, `Not ready: ${failing.join(', ')}.`, { headers: { 'Retry-After': '1' } });
    }
    return { status: 'ok' };
  }
}

/** Other modules inject `HealthIndicators` to add checks to `/readyz`. */
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
