import type { AddressInfo } from 'node:net';
import type { Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import type { Request, Response } from 'express';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { configureApp } from '../../src/app.js';
import { startApp } from '../../src/bootstrap.js';
import { AppModule } from '../../src/app.module.js';
import { AccessTokensService } from '../../src/platform/auth/access-tokens.service.js';
import { Configuration } from '../../src/platform/config/configuration.js';
import { readConfiguration } from '../../src/platform/config/read-configuration.js';
import { OpenApiDocument } from '../../src/platform/openapi/openapi-document.js';
import { undocumentedResponses } from '../../src/platform/responses/response-check.js';
import { Api } from './api.js';
import { eventually } from './eventually.js';
import { serverDefaults } from './process.js';
import { createTestDatabase, type TestDatabase } from './test-database.js';

export { eventually, serverDefaults };

/** The real application, in this process, on a real port and a real database. */
export interface Service {
  app: NestExpressApplication;
  api: Api;
  port: number;
  database: TestDatabase;
  /** A token of its own, as a client. */
  newClient(name?: string, restrictions?: { expiresAt?: Date; scopes?: string[]; rateLimit?: number }): Promise<Api>;
  stop(): Promise<void>;
}

const silentDefaults = { ...serverDefaults, LOG_LEVEL: 'silent', CHECK_RESPONSES: 'true' };

/** Who issues and revokes tokens in tests. */
export const TESTER = { actor: 'a test', reason: 'test' };

/**
 * Starts it with a database of its own, unless it is given one, and a generous rate limit. Its end fails for a response that was not
 * what the document says.
 */
export async function startService(
  environment: NodeJS.ProcessEnv = {},
  database?: TestDatabase,
  root: Type = AppModule,
  overrides: readonly (readonly [token: Type, value: unknown])[] = [],
): Promise<Service> {
  const ownDatabase = database ?? (await createTestDatabase());
  const configuration = readConfiguration({ ...silentDefaults, ...ownDatabase.environment, ...environment });
  const app =
    overrides.length > 0 ? await startOverridden(configuration, root, overrides) : await startApp(configuration, root);
  const undocumented = undocumentedStatuses(app);
  const { port, origin } = addressOf(app);
  await eventually(async () => (await fetch(`${origin}/readyz`)).status === 200);
  const newClient: Service['newClient'] = async (name = 'test', restrictions = {}) =>
    new Api(origin, (await app.get(AccessTokensService).issue({ name, ...restrictions }, TESTER)).token);
  return {
    app,
    api: await newClient(),
    port,
    database: ownDatabase,
    newClient,
    stop: async () => {
      await app.close();
      await (database ? undefined : ownDatabase.drop());
      expect([...undocumented, ...undocumentedResponses]).toEqual([]);
    },
  };
}

async function startOverridden(
  configuration: Configuration,
  root: Type,
  overrides: readonly (readonly [Type, unknown])[],
): Promise<NestExpressApplication> {
  const builder = Test.createTestingModule({ imports: [root] });
  for (const [token, value] of [[Configuration, configuration] as const, ...overrides]) {
    builder.overrideProvider(token).useValue(value);
  }
  const app = configureApp((await builder.compile()).createNestApplication<NestExpressApplication>());
  await app.listen(0);
  return app;
}

/** Statuses that operations responded with and do not document, each with the fix: filled while the application runs. */
function undocumentedStatuses(app: NestExpressApplication): ReadonlySet<string> {
  const found = new Set<string>();
  const { paths } = app.get(OpenApiDocument).get();
  app.getHttpServer().on('request', (request: Request, response: Response) => {
    response.once('close', () => {
      const path = String((request.route as { path?: unknown } | undefined)?.path).replaceAll(/:(\w+)/g, '{$1}');
      const operation = paths[path]?.[request.method.toLowerCase() as 'get'];
      if (
        operation &&
        response.headersSent &&
        !(response.statusCode in operation.responses) &&
        response.statusCode !== 500
      ) {
        const remedy = 'name the problem type in the problems of @Operation';
        found.add(`${request.method} ${path} responded ${response.statusCode}, which it does not document: ${remedy}`);
      }
    });
  });
  return found;
}

/** The application with a database that cannot be reached: nothing listens on port 1. */
export async function startAwayFromDatabase(
  root?: Type,
): Promise<{ app: NestExpressApplication; origin: string; stop: () => Promise<void> }> {
  const environment = { ...silentDefaults, DATABASE_URL: 'postgres://postgres@127.0.0.1:1/items' };
  const app = await startApp(readConfiguration(environment), root);
  return { app, origin: addressOf(app).origin, stop: () => app.close() };
}

function addressOf(app: NestExpressApplication): { port: number; origin: string } {
  const { port } = app.getHttpServer().address() as AddressInfo;
  return { port, origin: `http://127.0.0.1:${port}` };
}
