import { Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, DiscoveryModule, Reflector } from '@nestjs/core';
import { AuthModule } from './auth/auth.module.js';
import { BearerAuthGuard } from './auth/bearer-auth.guard.js';
import { ScopesGuard } from './auth/scopes.guard.js';
import { BootChecks } from './boot/boot-checks.js';
import { TimeLimitStage } from './database/time-limit.stage.js';
import { DocsModule } from './docs/docs.module.js';
import { HealthModule } from './health/health.module.js';
import { Drain } from './http/drain.js';
import { FallbackController } from './http/fallback.controller.js';
import { ProblemFilter } from './http/problem.filter.js';
import { IdempotencyStage } from './idempotency/idempotency.stage.js';
import { IdempotencyModule } from './idempotency/idempotency.module.js';
import { ListsModule } from './lists/lists.module.js';
import { ObservabilityModule } from './observability/observability.module.js';
import { OperationProblemsStage } from './openapi/operation-problems.stage.js';
import { Routes } from './routes/routes.js';
import { RateLimitGuard } from './throttling/rate-limit.guard.js';
import { RememberingReflector } from './throttling/remembering-reflector.js';
import type { Stage } from './stages/stage.js';
import { StagesGuard } from './stages/stages.guard.js';
import { ThrottlingModule } from './throttling/throttling.module.js';
import { TracingModule } from './tracing/tracing.module.js';
import { InputStage } from './validation/input.stage.js';

/** Between the guards and the handler, in this order. */
const STAGES = [InputStage, TimeLimitStage, OperationProblemsStage, IdempotencyStage];

/** What every feature gets for free. The order of the providers is the order in which they see a request. */
@Module({
  imports: [
    DiscoveryModule,
    ObservabilityModule,
    TracingModule,
    AuthModule,
    ThrottlingModule,
    HealthModule,
    IdempotencyModule,
    ListsModule,
    DocsModule,
  ],
  controllers: [FallbackController],
  providers: [
    Drain,
    Routes,
    BootChecks,
    { provide: Reflector, useClass: RememberingReflector },
    { provide: APP_GUARD, useClass: BearerAuthGuard },
    { provide: APP_GUARD, useClass: RateLimitGuard },
    { provide: APP_GUARD, useClass: ScopesGuard },
    ...STAGES,
    { provide: APP_GUARD, useFactory: (...stages: Stage[]) => new StagesGuard(stages), inject: STAGES },
    { provide: APP_FILTER, useClass: ProblemFilter },
  ],
})
export class PlatformModule {}
