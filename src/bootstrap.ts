import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import { Logger, type Type } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { createApp } from './app.js';
import { AppModule } from './app.module.js';
import { AccessTokensService } from './platform/auth/access-tokens.service.js';
import type { Configuration } from './platform/config/configuration.js';
import { loadEnvironment, readConfiguration } from './platform/config/read-configuration.js';
import { Database } from './platform/database/database.js';
import { reportFailure } from './platform/errors/operator-error.js';
import { Drain } from './platform/http/drain.js';
import { listenOn, originOf, tryToListen } from './platform/http/listen.js';
import { MetricsServer } from './platform/observability/metrics-server.js';
import { NestLogger } from './platform/observability/nest-logger.js';
import type { Quickstart } from './platform/observability/terminal-format.js';
import { OpenApiDocument } from './platform/openapi/openapi-document.js';
import { sampleCalls } from './platform/openapi/sample-calls.js';

/** Starts the service as the environment configures it, and reports a failure. Resolves when the database is ready. */
export async function bootstrap(): Promise<void> {
  try {
    const app = await startApp(readConfiguration(loadEnvironment()));
    process.off('unhandledRejection', reportFailure).on('unhandledRejection', endAfterRejection);
    await app.get(Database).started;
  } catch (error) {
    reportFailure(error);
  }
}

/**
 * Starts the application: listens, connects to the database in the background, shuts down gracefully on SIGTERM and SIGINT,
 * and switches the log level on SIGUSR2.
 *
 * @throws OperatorError if the tokens file is invalid, or a port or the embedded database cannot be used
 */
export async function startApp(configuration: Configuration, root: Type = AppModule): Promise<NestExpressApplication> {
  const nestLogger = await NestLogger.create(configuration, process.stdout);
  const app = await createApp(configuration, root, nestLogger);
  handleSignals(app, nestLogger);
  try {
    const metricsPort = await listenOn('METRICS_PORT', configuration.METRICS_PORT, (port) =>
      app.get(MetricsServer).listen(port),
    );
    // Fails on a port in use before the embedded database is created. With `DATABASE_URL`, the port is not tried: a proxy
    // could send requests to it during the attempt, which would be lost.
    const { DATABASE_URL, HOST, PORT } = configuration;
    if (DATABASE_URL === undefined) {
      await listenOn('PORT', PORT, (port) => tryToListen(port, HOST));
    }
    await app.init();
    // A signal during `init()` has begun the shutdown.
    if (app.get(Drain).hasBegun) {
      return app;
    }
    await listenOn('PORT', PORT, (port) => (HOST === undefined ? app.listen(port) : app.listen(port, HOST)));
    app.get(MetricsServer).serveProbes(app.getHttpAdapter().getInstance());
    await announce(app, configuration, metricsPort);
    return app;
  } catch (error) {
    await app.close().catch((err: unknown) => new Logger('Start').error({ msg: 'closing failed', err }));
    throw error;
  }
}

function handleSignals(app: NestExpressApplication, nestLogger: NestLogger): void {
  const shutdown: NodeJS.Signals[] = ['SIGTERM', 'SIGINT'];
  const begin = (signal: NodeJS.Signals) => app.get(Drain).begin(signal);
  const toggleDebug = () => nestLogger.toggleDebug();
  shutdown.forEach((signal) => process.once(signal, begin));
  process.on('SIGUSR2', toggleDebug);
  app.getHttpServer().once('close', () => {
    shutdown.forEach((signal) => process.off(signal, begin));
    process.off('SIGUSR2', toggleDebug);
  });
  app.enableShutdownHooks(shutdown, { useProcessExit: true });
}

/** Logs the addresses and, at the first start on an embedded database, a token with commands that use it. */
async function announce(app: NestExpressApplication, { API_DOCS, HOST }: Configuration, metricsPort: number): Promise<void> {
  const origin = originOf(HOST, (app.getHttpServer().address() as AddressInfo).port);
  const addresses = { address: origin, ...(API_DOCS && { console: `${origin}/docs` }) };
  const logger = new Logger('Start');
  logger.log({ msg: `Listening on ${origin}`, ...addresses, metrics: `http://localhost:${metricsPort}/metrics` });
  const token = await app.get(AccessTokensService).issueFirst();
  if (token !== undefined) {
    const calls = sampleCalls(app.get(OpenApiDocument).get(), origin, token);
    logger.log({ msg: 'first start', quickstart: { ...addresses, token, ...calls } satisfies Quickstart });
  }
}

/** Shuts down gracefully after an unhandled rejection, as on SIGTERM, with exit code 1. */
function endAfterRejection(error: unknown): void {
  new Logger('Process').fatal({ msg: 'unhandled rejection: the service ends', err: error });
  process.once('exit', () => {
    process.exitCode = 1;
  });
  process.kill(process.pid, 'SIGTERM');
}
