import './platform/config/supported-node.js';
import './platform/config/end-on-signal.js';
import 'reflect-metadata';
import { writeFile } from 'node:fs/promises';
import type { INestApplicationContext } from '@nestjs/common';
import { Command, InvalidArgumentError } from 'commander';
import { validate as isUuid } from 'uuid';
import { createApp, createContext } from './app.js';
import type { AccessToken } from './platform/auth/access-token.entity.js';
import { AccessTokensService } from './platform/auth/access-tokens.service.js';
import { scopesOf } from './platform/auth/token-policy.decorator.js';
import { Configuration } from './platform/config/configuration.js';
import { loadEnvironment } from './platform/config/load-environment.js';
import { OperatorError } from './platform/config/operator-error.js';
import { readConfiguration } from './platform/config/read-configuration.js';
import { reportFailure } from './platform/config/report-failure.js';
import { Database } from './platform/database/database.js';
import { OpenApiDocument } from './platform/openapi/openapi-document.js';
import { Routes } from './platform/routes/routes.js';

const DAY = 24 * 60 * 60 * 1000;

const program = new Command('items').description(
  'Operates the Items Service. Results go to standard output, all else to standard error.',
);

const token = program.command('token').description('manage access tokens');

token
  .command('issue')
  .description('issue a token and print it, alone; it cannot be shown again')
  .requiredOption('--name <name>', 'tells this token from others in `token list`', tokenName)
  .option('--expires <days>', 'how long it is valid, like 90d, or never', lifetime, Infinity)
  .option('--scope <scopes...>', 'what it is restricted to, like items:read; without, it may do everything')
  .action(async ({ name, expires, scope = null }: { name: string; expires: number; scope?: string[] | null }) => {
    const expiresAt = expires === Infinity ? null : new Date(Date.now() + expires);
    const issue = async (app: INestApplicationContext) => {
      refuseUnknown(scope ?? [], app.get(Routes).all().flatMap(scopesOf));
      await connect(app);
      return app.get(AccessTokensService).issue(name, expiresAt, scope);
    };
    print(await withContext(issue));
  });

token
  .command('list')
  .description('list all tokens, oldest first')
  .action(async () => {
    const tokens = await withDatabase((app) => app.get(AccessTokensService).list());
    print([['ID', 'NAME', 'CREATED', 'EXPIRES', 'LAST USED', 'REVOKED', 'SCOPES'].join('\t'), ...tokens.map(row)].join('\n'));
  });

token
  .command('revoke')
  .description('revoke a token; running services follow within TOKEN_CACHE_TTL seconds')
  .argument('<id>', 'id of the token, from `token list`', (id: string) => {
    if (!isUuid(id)) throw new InvalidArgumentError('An id looks like 0190163d-8694-739b-aea5-966c26f8ad91.');
    return id;
  })
  .action(async (id: string) => {
    if (!(await withDatabase((app) => app.get(AccessTokensService).revoke(id)))) {
      throw new OperatorError(`No token with the id ${id} is in use. See \`token list\`.`);
    }
  });

program
  .command('migrate')
  .description('apply the migrations that the database does not have yet')
  .action(() => withContext((app) => app.get(Database).migrate().catch(explain)));

program
  .command('openapi')
  .description('print the OpenAPI document')
  .argument('[file]', 'to write it to, instead of standard output')
  .action(async (file: string | undefined) => {
    const app = await createApp(Object.assign(new Configuration(), { LOG_LEVEL: 'silent' }));
    const document = JSON.stringify(app.get(OpenApiDocument).get(), null, 2);
    if (file === undefined) {
      print(document);
    } else {
      await writeFile(file, `${document}\n`);
    }
  });

await program.parseAsync().catch(reportFailure);

/** Runs something with the application's providers, without a server. */
async function withContext<T>(run: (app: INestApplicationContext) => Promise<T>): Promise<T> {
  const app = await createContext(readConfiguration(loadEnvironment()));
  try {
    return await run(app);
  } finally {
    await app.close();
  }
}

/** The same with a connected database. */
function withDatabase<T>(run: (app: INestApplicationContext) => Promise<T>): Promise<T> {
  return withContext(async (app) => {
    await connect(app);
    return run(app);
  });
}

function connect(app: INestApplicationContext): Promise<void> {
  return app.get(Database).connect().catch(explain);
}

/** The database is the operator's to mend. */
function explain(error: unknown): never {
  if (error instanceof OperatorError || !Error.isError(error)) {
    throw error;
  }
  const { message, cause } = error;
  throw new OperatorError(`The database cannot be used: ${message} ${Error.isError(cause) ? cause.message : ''}`.trim());
}

/** A name that fits into a line of `token list`. */
function tokenName(text: string): string {
  if (!/^[^\p{C}]{1,100}$/u.test(text) || text.trim() === '') {
    throw new InvalidArgumentError('Write 1 to 100 printable characters.');
  }
  return text;
}

/** Milliseconds from `90d`, infinitely many from `never`. */
function lifetime(text: string): number {
  if (text === 'never') {
    return Infinity;
  }
  const days = /^([1-9][0-9]{0,3})d$/.exec(text)?.[1];
  if (days === undefined) {
    throw new InvalidArgumentError('Write a number of days, like 90d, or never.');
  }
  return Number(days) * DAY;
}

/** A mistyped scope would make a token that nothing can be done with. */
function refuseUnknown(scopes: readonly string[], known: readonly string[]): void {
  const unknown = scopes.find((scope) => !known.includes(scope));
  if (unknown !== undefined) {
    throw new OperatorError(`There is no scope ${unknown}. There are ${[...new Set(known)].toSorted().join(', ')}.`);
  }
}

function row({ id, name, createdAt, expiresAt, lastUsedOn, revokedAt, scopes }: AccessToken): string {
  const dates = [createdAt.toISOString(), expiresAt?.toISOString(), lastUsedOn, revokedAt?.toISOString()];
  const fields = [id, name, ...dates, scopes?.join(' ')];
  return fields.map((field) => field ?? '-').join('\t');
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
