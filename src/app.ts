import { type INestApplicationContext, type Type, VersioningType } from '@nestjs/common';
import { ApplicationConfig, ModulesContainer, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { apiDescription } from './api-description.js';
import { AppModule } from './app.module.js';
import { checkDocument, checkModules } from './platform/boot/boot-checks.js';
import { confineEnhancers } from './platform/boot/global-enhancers.js';
import { Configuration } from './platform/config/configuration.js';
import { withConfiguration } from './platform/config/read-configuration.js';
import { checkDataSources } from './platform/database/check-data-sources.js';
import { DocsController } from './platform/docs/docs.controller.js';
import { DOCS_ASSETS_PATH, docsAssets } from './platform/docs/docs-assets.js';
import { beginRequest, configureExpress, JsonAdapter, requireHost } from './platform/http/express.js';
import { Drain } from './platform/http/drain.js';
import { HttpConnections } from './platform/http/http-connections.js';
import { addMessageFilter } from './platform/http/problem.filter.js';
import { Metrics } from './platform/observability/metrics.js';
import { NestLogger } from './platform/observability/nest-logger.js';
import { observeRequests } from './platform/observability/observe-requests.js';
import { buildDocument } from './platform/openapi/build-document.js';
import { enableCors } from './platform/openapi/cors.js';
import { announceDeprecations } from './platform/openapi/deprecation.js';
import { OpenApiDocument } from './platform/openapi/openapi-document.js';
import { checkResponse } from './platform/responses/response-check.js';
import { PlatformModule } from './platform/platform.module.js';
import { whitelistResults } from './platform/responses/result-whitelist.js';
import { messageHandlersOf, routesOf } from './platform/routes/route.js';

/**
 * Configures an application that `NestFactory` or `Test.createTestingModule` created. The database is opened by `app.init()`
 * or `app.listen()`.
 *
 * @param app - with the platform and the features
 * @throws OperatorError with all errors if modules are invalid
 */
export function configureApp(app: NestExpressApplication): NestExpressApplication {
  const configuration = app.get(Configuration);
  configureHttp(app, configuration);
  if (!configuration.API_DOCS) {
    // Removes the routes before Nest maps them: their paths then respond exactly as unknown paths do.
    app.get(ModulesContainer).forEach(({ controllers }) => controllers.delete(DocsController));
  }
  const routes = routesOf(app);
  const messageHandlers = messageHandlersOf(app);
  checkModules(routes, messageHandlers);
  if (configuration.CHECK_RESPONSES) {
    app.useGlobalInterceptors({ intercept: (...given) => checkResponse(app.get(OpenApiDocument), ...given) });
  }
  confineEnhancers(app, PlatformModule);
  addMessageFilter(messageHandlers, configuration);
  buildDocument(app, apiDescription, routes);
  checkDocument(routes, app.get(OpenApiDocument));
  announceDeprecations(app, routes);
  enableCors(app, configuration.CORS_ORIGINS, routes);
  if (configuration.API_DOCS) {
    app.getHttpAdapter().getInstance().get(DOCS_ASSETS_PATH, docsAssets());
  }
  whitelistResults(routes, app.get(OpenApiDocument), configuration.CHECK_RESPONSES);
  return app;
}

/** Configures the HTTP server, the middleware in front of all routes, and how Nest matches routes. */
function configureHttp(app: NestExpressApplication, configuration: Configuration): void {
  const metrics = app.get(Metrics);
  const drain = app.get(Drain);
  configureExpress(app, configuration.TRUSTED_PROXIES, () => drain.complete());
  const http = new HttpConnections(app.getHttpServer(), configuration, metrics);
  drain.http = http;
  app.use(http.track, beginRequest, observeRequests(metrics), requireHost);
  app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
  const routing = app.get(ApplicationConfig);
  routing.setRouteResolutionStrategy('specificity');
  routing.setRouteConflictPolicy({ duplicate: 'error' });
}

/**
 * Creates the configured application, without opening a port or the database.
 *
 * @param root - the module with the platform and the features
 * @param logger - by default, one that writes to standard output
 * @throws OperatorError with all errors if modules are invalid, or if a feature has another default data source
 */
export async function createApp(
  configuration: Configuration,
  root: Type = AppModule,
  logger?: NestLogger,
): Promise<NestExpressApplication> {
  checkDataSources(root);
  logger ??= await NestLogger.create(configuration, process.stdout);
  const app = await withConfiguration(configuration, () =>
    NestFactory.create<NestExpressApplication>(root, new JsonAdapter(), { logger, abortOnError: false }),
  );
  return configureApp(app);
}

/**
 * Creates the providers without a server, for commands. Results go to standard output, so the log goes to standard error.
 */
export async function createContext(configuration: Configuration, root: Type = AppModule): Promise<INestApplicationContext> {
  checkDataSources(root);
  const logger = await NestLogger.create(configuration, process.stderr);
  return withConfiguration(configuration, () => NestFactory.createApplicationContext(root, { logger, abortOnError: false }));
}
