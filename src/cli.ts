import './platform/config/supported-node.js';
import './platform/config/end-on-signal.js';
import 'reflect-metadata';
import type { INestApplicationContext } from '@nestjs/common';
import { Command, InvalidArgumentError } from 'commander';
import { validate as isUuid } from 'uuid';
import { createApp, createContext } from './app.js';
import type { AccessToken } from './platform/auth/access-token.entity.js';
import { AccessTokensService } from './platform/auth/access-tokens.service.js';
import { Configuration } from './platform/config/configuration.js';
import { loadEnvironment } from './platform/config/load-environment.js';
import { OperatorError } from './platform/config/operator-error.js';
import { readConfiguration } from './platform/config/read-configuration.js';
import { reportFailure } from './platform/config/report-failure.js';
import { Database } from './platform/database/database.js';
import { OpenApiDocument } from './platform/openapi/openapi-document.js';

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
  .action(async ({ name, expires }: { name: string; expires: number }) => {
    const expiresAt = expires === Infinity ? null : new Date(Date.now() + expires);
    print(await withDatabase((app) => app.get(AccessTokensService).issue(name, expiresAt)));
  });

token
  .command('list')
  .description('list all tokens, oldest first')
  .action(async () => {
    const tokens = await withDatabase((app) => app.get(AccessTokensService).list());
    print([['ID', 'NAME', 'CREATED', 'EXPIRES', 'LAST USED', 'REVOKED'].join('\t'), ...tokens.map(row)].join('\n'));
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
  .action(async () => {
    const app = await createApp(Object.assign(new Configuration(), { LOG_LEVEL: 'silent' }));
    print(JSON.stringify(app.get(OpenApiDocument).get(), null, 2));
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
    await app.get(Database).connect().catch(explain);
    return run(app);
  });
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

function row({ id, name, createdAt, expiresAt, lastUsedOn, revokedAt }: AccessToken): string {
  const fields = [id, name, createdAt.toISOString(), expiresAt?.toISOString(), lastUsedOn, revokedAt?.toISOString()];
  return fields.map((field) => field ?? '-').join('\t');
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
