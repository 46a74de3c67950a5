import { Global, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE, DiscoveryModule, Reflector } from '@nestjs/core';
import { ThrottlerModule } from '@nestjs/throttler';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from './auth/auth.module.js';
import { BearerAuthGuard } from './auth/bearer-auth.guard.js';
import { ScopesGuard } from './auth/scopes.guard.js';
import { Startup } from './boot/startup.js';
import { DatabaseModule } from './database/database.module.js';
import { MigrationsModule } from './database/migrations.js';
import { Configuration } from './config/configuration.js';
import { ConfigurationModule } from './config/read-configuration.js';
import { BrowserFilesController, DocsController } from './docs/docs.controller.js';
import { HealthModule } from './health/health.module.js';
import { Drain } from './http/drain.js';
import { InputGuard } from './http/input.guard.js';
import { LateRoutesController } from './http/late-routes.controller.js';
import { OverloadGuard } from './http/overload.guard.js';
import { ProblemFilter } from './http/problem.filter.js';
import { CreateIdempotencyKeys1767225600004 } from './idempotency/migrations/1767225600004-create-idempotency-keys.js';
import { StoredResponse } from './idempotency/stored-response.entity.js';
import { StoredResponses } from './idempotency/stored-responses.js';
import { PageReader } from './lists/page-reader.js';
import { Lists } from './lists/lists.js';
import { Metrics } from './observability/metrics.js';
import { MetricsServer } from './observability/metrics-server.js';
import { OpenApiDocument } from './openapi/openapi-document.js';
import { RateLimitGuard, CachingReflector } from './throttling/rate-limit.guard.js';
import { throttlerOptions } from './throttling/rate-limit.storage.js';
import { Tracing } from './tracing/tracing.js';
import { RequestValidationPipe } from './validation/request-validation.pipe.js';

/** The platform's global providers: those with a token `APP_…` in the order in which a request passes them. */
@Global()
@Module({
  imports: [
    DiscoveryModule,
    ConfigurationModule,
    DatabaseModule,
    AuthModule,
    ThrottlerModule.forRootAsync({ inject: [Configuration, Metrics], useFactory: throttlerOptions }),
    HealthModule,
    TypeOrmModule.forFeature([StoredResponse]),
    MigrationsModule.forFeature([CreateIdempotencyKeys1767225600004]),
  ],
  controllers: [DocsController, BrowserFilesController, LateRoutesController],
  providers: [
    Metrics,
    MetricsServer,
    Tracing,
    Drain,
    OpenApiDocument,
    Startup,
    PageReader,
    Lists,
    StoredResponses,
    { provide: Reflector, useClass: CachingReflector },
    // If an operation is deprecated, the guard of `openapi/deprecation.ts` runs before these.
    { provide: APP_GUARD, useClass: OverloadGuard },
    { provide: APP_GUARD, useExisting: BearerAuthGuard },
    { provide: APP_GUARD, useClass: RateLimitGuard },
    { provide: APP_GUARD, useClass: ScopesGuard },
    { provide: APP_GUARD, useClass: InputGuard },
    // Interceptors run here, only on routes that have some; the one of the lowest decorator is the outermost.
    { provide: APP_PIPE, useClass: RequestValidationPipe },
    { provide: APP_FILTER, useClass: ProblemFilter },
  ],
  exports: [AuthModule, Drain, Lists, Metrics, OpenApiDocument],
})
export class PlatformModule {}
