import { Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, DiscoveryModule } from '@nestjs/core';
import { AuthModule } from './auth/auth.module.js';
import { BearerAuthGuard } from './auth/bearer-auth.guard.js';
import { ScopesGuard } from './auth/scopes.guard.js';
import { BootChecks } from './boot/boot-checks.js';
import { TimeLimitInterceptor } from './database/time-limit.interceptor.js';
import { DeprecationInterceptor } from './deprecation/deprecation.interceptor.js';
import { DeprecationModule } from './deprecation/deprecation.module.js';
import { DocsModule } from './docs/docs.module.js';
import { DoctorModule } from './doctor/doctor.module.js';
import { HealthModule } from './health/health.module.js';
import { Drain } from './http/drain.js';
import { FallbackController } from './http/fallback.controller.js';
import { ProblemFilter } from './http/problem.filter.js';
import { IdempotencyInterceptor } from './idempotency/idempotency.interceptor.js';
import { IdempotencyModule } from './idempotency/idempotency.module.js';
import { ListsModule } from './lists/lists.module.js';
import { ObservabilityModule } from './observability/observability.module.js';
import { OpenApiModule } from './openapi/openapi.module.js';
import { OperationProblemsInterceptor } from './openapi/operation-problems.interceptor.js';
import { Routes } from './routes/routes.js';
import { RateLimitGuard } from './throttling/rate-limit.guard.js';
import { ThrottlingModule } from './throttling/throttling.module.js';
import { TracingModule } from './tracing/tracing.module.js';
import { InputInterceptor } from './validation/input.interceptor.js';

/** What every feature gets for free. The order of the providers is the order in which they see a request. */
@Module({
  imports: [
    DiscoveryModule,
    ObservabilityModule,
    TracingModule,
    AuthModule,
    ThrottlingModule,
    HealthModule,
    DoctorModule,
    DeprecationModule,
    IdempotencyModule,
    ListsModule,
    OpenApiModule,
    DocsModule,
  ],
  controllers: [FallbackController],
  providers: [
    Drain,
    Routes,
    OperationProblemsInterceptor,
    BootChecks,
    { provide: APP_GUARD, useClass: BearerAuthGuard },
    { provide: APP_GUARD, useClass: RateLimitGuard },
    { provide: APP_GUARD, useClass: ScopesGuard },
    { provide: APP_INTERCEPTOR, useClass: DeprecationInterceptor },
    { provide: APP_INTERCEPTOR, useClass: InputInterceptor },
    { provide: APP_INTERCEPTOR, useClass: TimeLimitInterceptor },
    { provide: APP_INTERCEPTOR, useExisting: OperationProblemsInterceptor },
    { provide: APP_INTERCEPTOR, useClass: IdempotencyInterceptor },
    { provide: APP_FILTER, useClass: ProblemFilter },
  ],
})
export class PlatformModule {}
