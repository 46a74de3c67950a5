import type { AddressInfo } from 'node:net';
import { type INestApplicationContext, Logger, type NestApplicationOptions, type Type, VersioningType } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Counter } from 'prom-client';
import { apiDescription } from './api-description.js';
import { AppModule } from './app.module.js';
import { QuickstartToken } from './platform/auth/quickstart-token.js';
import { TokenAuthenticator } from './platform/auth/token-authenticator.js';
import { scopesOf } from './platform/auth/token-policy.decorator.js';
import { BootChecks } from './platform/boot/boot-checks.js';
import type { Configuration } from './platform/config/configuration.js';
import { OperatorError } from './platform/config/operator-error.js';
import { withConfiguration } from './platform/config/read-configuration.js';
import { Database } from './platform/database/database.js';
import { DOCS_ASSETS_PATH, docsAssets } from './platform/docs/docs-assets.js';
import { skipClosedConnection } from './platform/http/connections.js';
import { createExpress } from './platform/http/create-express.js';
import { Drain } from './platform/http/drain.js';
import { hostHeader } from './platform/http/request-headers.js';
import { configureHttpServer } from './platform/http/http-server.js';
import { JsonAdapter } from './platform/http/json-adapter.js';
import { rememberRequest } from './platform/http/request-context.js';
import { securityHeaders } from './platform/http/security-headers.js';
import { createLogger } from './platform/observability/create-logger.js';
import { LogOutput } from './platform/observability/log-output.js';
import { Metrics } from './platform/observability/metrics.js';
import { MetricsServer } from './platform/observability/metrics-server.js';
import { NestLogger } from './platform/observability/nest-logger.js';
import { observeRequests } from './platform/observability/observe-requests.js';
import { buildOpenApiDocument } from './platform/openapi/build-openapi-document.js';
import { OpenApiDocument } from './platform/openapi/openapi-document.js';
import { Routes } from './platform/routes/routes.js';
import { RateLimitStorage } from './platform/throttling/rate-limit.storage.js';
import { traceRequests } from './platform/tracing/trace-requests.js';
import { TracingModule } from './platform/tracing/tracing.module.js';

/**
 * The configured application. It has opened nothing yet: no port, no database.
 *
 * @param root - the module with the platform and the features
 * @throws OperatorError when a module is wrong, with all that must be fixed
 */
export async function createApp(configuration: Configuration, root: Type = AppModule): Promise<NestExpressApplication> {
  const output = new LogOutput(process.stdout.fd);
  const logger = await createLogger(configuration, process.stdout, output);
  const adapter = new JsonAdapter(createExpress(configuration.TRUSTED_PROXIES));
  const options: NestApplicationOptions = {
    logger: new NestLogger(logger),
    abortOnError: false,
    // The body is read after authentication, by the stage that validates it.
    bodyParser: false,
    // The fallback takes what is left, even if a module is registered later.
    routeResolutionStrategy: 'specificity',
    routeConflictPolicy: { duplicate: 'error' },
  };
  const create = () => NestFactory.create<NestExpressApplication>(root, adapter, options);
  const app = await withConfiguration(configuration, create);
  const metrics = app.get(Metrics);
  metrics.registry.registerMetric(
    new Counter({
      name: 'items_log_lines_dropped_total',
      help: 'Log lines that could not be written, to a full disk for example',
      registers: [],
      collect() {
        this.reset();
        this.inc(output.dropped);
      },
    }),
  );
  app.get(Drain).watch(configureHttpServer(app.getHttpServer(), configuration, metrics));
  app.use(skipClosedConnection, rememberRequest, traceRequests, observeRequests(logger, metrics), securityHeaders, hostHeader);
  app.use(DOCS_ASSETS_PATH, docsAssets());
  app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
  app.get(BootChecks).run();
  app.get(OpenApiDocument).set(buildOpenApiDocument(app, apiDescription, app.get(Routes).all()));
  return app;
}

/**
 * The running application: listening on its port, using its database once that is there, ending well on SIGTERM and SIGINT.
 *
 * @throws OperatorError when the file of tokens is wrong, or the port or the embedded database is taken
 */
export async function startApp(configuration: Configuration, root: Type = AppModule): Promise<NestExpressApplication> {
  const app = await createApp(configuration, root);
  app.enableShutdownHooks(['SIGTERM', 'SIGINT'], { useProcessExit: true });
  try {
    await app.get(TracingModule).start(apiDescription.version);
    await app.get(TokenAuthenticator).start(app.get(Routes).all().flatMap(scopesOf));
    await Promise.all([app.get(Database).start(), app.get(RateLimitStorage, { strict: false }).start()]);
    if (app.get(Drain).hasBegun) {
      return app;
    }
    const metricsPort = await take('METRICS_PORT', configuration.METRICS_PORT, (port) => app.get(MetricsServer).listen(port));
    await take('PORT', configuration.PORT, (port) => app.listen(port));
    const origin = `http://localhost:${(app.getHttpServer().address() as AddressInfo).port}`;
    const logger = new Logger('Start');
    logger.log(`Metrics at http://localhost:${metricsPort}/metrics`);
    logger.log(`Listening on ${origin}, Swagger UI at ${origin}/docs`);
    await app.get(QuickstartToken).offer(origin, '/v1/items');
    return app;
  } catch (error) {
    await app.close();
    throw error;
  }
}

/** The application's providers without a server, for commands: their results own standard output, so the log goes to standard error. */
export async function createContext(configuration: Configuration, root: Type = AppModule): Promise<INestApplicationContext> {
  const logger = new NestLogger(await createLogger(configuration, process.stderr));
  return withConfiguration(configuration, () => NestFactory.createApplicationContext(root, { logger, abortOnError: false }));
}

/** @throws OperatorError when something else listens on that port */
async function take<T>(variable: string, port: number, listen: (port: number) => Promise<T>): Promise<T> {
  try {
    return await listen(port);
  } catch (error) {
    if (Error.isError(error) && 'code' in error && error.code === 'EADDRINUSE') {
      throw new OperatorError(`Port ${port} is taken. Stop what listens there, or choose another with ${variable}.`);
    }
    throw error;
  }
}
