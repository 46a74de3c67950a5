import { Controller, Get, VERSION_NEUTRAL } from '@nestjs/common';
import { Hidden } from '../openapi/route-documentation.js';
import { Public } from '../auth/token-policy.decorator.js';
import { serviceUnavailable } from '../http/problem-types.js';
import { Problem } from '../http/problem.js';
import { HealthIndicators } from './health-indicators.js';

/** Kubernetes probes: `/livez` has no dependencies; `/readyz` reports whether the service accepts requests. */
@Public()
@Hidden()
@Controller({ version: VERSION_NEUTRAL })
export class HealthController {
  constructor(private readonly indicators: HealthIndicators) {}

  @Get('livez')
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  @Get('readyz')
  async ready(): Promise<{ status: 'ok' }> {
    const failing = await this.indicators.failing();
    if (failing.length > 0) {
      throw new Problem(serviceUnavailable, `Not ready: ${failing.join(', ')}.`, { headers: { 'Retry-After': '1' } });
    }
    return { status: 'ok' };
  }
}
