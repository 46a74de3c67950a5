import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { type INestApplicationContext, Logger, type Type, VersioningType } from '@nestjs/common';
import { ApplicationConfig, ModulesContainer, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { apiDescription } from './api-description.js';
import { AppModule } from './app.module.js';
import { AccessTokensService } from './platform/auth/access-tokens.service.js';
import { checkModules, checkPaths } from './platform/boot/boot-checks.js';
import { confineEnhancers } from './platform/boot/global-enhancers.js';
import { Configuration } from './platform/config/configuration.js';
import { OperatorError } from './platform/errors/operator-error.js';
import { withConfiguration } from './platform/config/read-configuration.js';
import { DocsController } from './platform/docs/docs.controller.js';
import { DOCS_ASSETS_PATH, docsAssets } from './platform/docs/docs-assets.js';
import { beginRequest, configureExpress, JsonAdapter, requireHost } from './platform/http/express.js';
import { Drain } from './platform/http/drain.js';
import { HttpServer } from './platform/http/http-server.js';
import { filterProblems } from './platform/http/problem.filter.js';
import { Metrics } from './platform/observability/metrics.js';
import { MetricsServer } from './platform/observability/metrics-server.js';
import { NestLogger } from './platform/observability/nest-logger.js';
import { observeRequests } from './platform/observability/observe-requests.js';
import type { Quickstart } from './platform/observability/terminal-format.js';
import { buildDocument } from './platform/openapi/build-document.js';
import { enableCors } from './platform/openapi/cors.js';
import { announceDeprecations } from './platform/openapi/deprecation.js';
import { OpenApiDocument } from './platform/openapi/openapi-document.js';
import { checkResponse } from './platform/responses/response-check.js';
import { PlatformModule } from './platform/platform.module.js';
import { messageHandlersOf, routesOf } from './platform/routes/route.js';

/**
 * Configures an application that `NestFactory` or `Test.createTestingModule` created. The database is opened by `app.init()` or
 * `app.listen()`.
 *
 * @param app - with the platform and the features
 * @throws OperatorError if modules are invalid, with all errors
 */
export function configureApp(app: NestExpressApplication): NestExpressApplication {
  const configuration = app.get(Configuration);
  const metrics = app.get(Metrics);
  const drain = app.get(Drain);
  configureExpress(app, configuration.TRUSTED_PROXIES, () => drain.complete());
  const httpServer = new HttpServer(app.getHttpServer(), configuration, metrics);
  drain.httpServer = httpServer;
  app.use(httpServer.track, beginRequest, observeRequests(metrics), requireHost);
  app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
  const routing = app.get(ApplicationConfig);
  routing.setRouteResolutionStrategy('specificity');
  routing.setRouteConflictPolicy({ duplicate: 'error' });
  if (!configuration.API_DOCS) {
    // Before Nest maps the routes, so that nothing tells their paths from unknown ones.
    app.get(ModulesContainer).forEach(({ controllers }) => controllers.delete(DocsController));
  }
  const routes = routesOf(app);
  const messageHandlers = messageHandlersOf(app);
  checkModules(routes, messageHandlers);
  confineEnhancers(app, PlatformModule);
  filterProblems(messageHandlers, configuration);
  buildDocument(app, apiDescription, routes);
  checkPaths(app.get(OpenApiDocument).get());
  announceDeprecations(app, routes);
  enableCors(app, configuration.CORS_ORIGINS, routes);
  if (configuration.API_DOCS) {
    app.getHttpAdapter().getInstance().get(DOCS_ASSETS_PATH, docsAssets());
  }
  if (configuration.CHECK_RESPONSES) {
    app.useGlobalInterceptors({ intercept: (...given) => checkResponse(app.get(OpenApiDocument), ...given) });
  }
  return app;
}

/**
 * Creates the configured application, without opening a port or the database.
 *
 * @param root - the module with the platform and the features
 * @param given - a log of its own by default
 * @throws OperatorError if modules are invalid, with all errors
 */
export async function createApp(
  configuration: Configuration,
  root: Type = AppModule,
  given?: NestLogger,
): Promise<NestExpressApplication> {
  const logger = given ?? (await NestLogger.create(configuration, process.stdout));
  const app = await withConfiguration(configuration, () =>
    NestFactory.create<NestExpressApplication>(root, new JsonAdapter(), { logger, abortOnError: false }),
  );
  return configureApp(app);
}

/**
 * Starts the application: listens, connects to the database in the background, shuts down gracefully on SIGTERM and SIGINT, and
 * switches the log level on SIGUSR2.
 *
 * @throws OperatorError if the tokens file is invalid, or a port or the embedded database cannot be used
 */
export async function startApp(configuration: Configuration, root: Type = AppModule): Promise<NestExpressApplication> {
  const nestLogger = await NestLogger.create(configuration, process.stdout);
  const app = await createApp(configuration, root, nestLogger);
  const toggleDebug = () => nestLogger.toggleDebug();
  process.on('SIGUSR2', toggleDebug);
  app.getHttpServer().once('close', () => process.off('SIGUSR2', toggleDebug));
  const begin = (signal: NodeJS.Signals) => app.get(Drain).begin(signal);
  const signals: NodeJS.Signals[] = ['SIGTERM', 'SIGINT'];
  for (const signal of signals) {
    process.once(signal, begin);
    app.getHttpServer().once('close', () => process.off(signal, begin));
  }
  app.enableShutdownHooks(signals, { useProcessExit: true });
  try {
    const metricsPort = await listenOn('METRICS_PORT', configuration.METRICS_PORT, (port) => app.get(MetricsServer).listen(port));
    // A start that fails must not create the embedded database first. Behind a proxy, requests would reach the port that is tried.
    const { API_DOCS, DATABASE_URL, HOST, PORT } = configuration;
    if (DATABASE_URL === undefined) {
      await listenOn('PORT', PORT, (port) => tryToListen(port, HOST));
    }
    await app.init();
    if (app.get(Drain).hasBegun) {
      return app;
    }
    await listenOn('PORT', PORT, (port) => (HOST === undefined ? app.listen(port) : app.listen(port, HOST)));
    app.get(MetricsServer).serveProbes(app.getHttpAdapter().getInstance());
    const origin = originOf(HOST, (app.getHttpServer().address() as AddressInfo).port);
    const logger = new Logger('Start');
    const addresses = { address: origin, ...(API_DOCS && { console: `${origin}/docs` }) };
    logger.log({ msg: `Listening on ${origin}`, ...addresses, metrics: `http://localhost:${metricsPort}/metrics` });
    const token = await app.get(AccessTokensService).issueFirst();
    if (token !== undefined) {
      const list = `curl -H 'Authorization: Bearer ${token}' ${origin}/v1/items`;
      const item = '{"name": "Blue bicycle", "description": "Seven gears, one bell."}';
      const create = `${list} -H 'Content-Type: application/json' -d '${item}'`;
      logger.log({ msg: 'first start', quickstart: { ...addresses, token, create, list } satisfies Quickstart });
    }
    return app;
  } catch (error) {
    await app.close().catch((err: unknown) => new Logger('Start').error({ msg: 'closing failed', err }));
    throw error;
  }
}

/** Creates the providers without a server, for commands. Results go to standard output, so the log goes to standard error. */
export async function createContext(configuration: Configuration, root: Type = AppModule): Promise<INestApplicationContext> {
  const logger = await NestLogger.create(configuration, process.stderr);
  return withConfiguration(configuration, () => NestFactory.createApplicationContext(root, { logger, abortOnError: false }));
}

/** The address of the API on this machine. */
function originOf(host: string | undefined, port: number): string {
  const name = host === undefined || /^[0.:]+$/.test(host) ? 'localhost' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

async function tryToListen(port: number, host: string | undefined): Promise<void> {
  const server = createServer((socket) => socket.destroy()).listen(port, host);
  await once(server, 'listening');
  await once(server.close(), 'close');
}

/** By code of Node's errors, with the fix. */
const PORT_FAULTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use. Stop the process that listens on it,',
  EACCES: `needs a privilege that user ${process.getuid?.()} does not have. Grant it,`,
};

/** Codes for an address of another machine, of a version of IP that is off, and of a network that it does not name. */
const HOST_FAULTS: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL']);

/** @throws OperatorError if the port or the address cannot be used */
async function listenOn<T>(variable: string, port: number, listen: (port: number) => Promise<T>): Promise<T> {
  try {
    return await listen(port);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const fault = PORT_FAULTS[code];
    if (HOST_FAULTS.has(code)) {
      throw new OperatorError('HOST is not an address of this machine: choose one of its addresses, or unset HOST to use all.');
    }
    throw fault === undefined ? error : new OperatorError(`Port ${port} ${fault} or choose another port with ${variable}.`);
  }
}
