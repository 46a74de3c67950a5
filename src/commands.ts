import 'reflect-metadata';
import { writeFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { promisify } from 'node:util';
import type { INestApplicationContext } from '@nestjs/common';
import { Command, Help } from 'commander';
import { hideCredentials } from './platform/errors/redaction.js';
import { addTokenCommands } from './platform/auth/token-commands.js';
import { Configuration } from './platform/config/configuration.js';
import { SERVICE_VERSION } from './platform/service/service.js';
import { loadEnvironment, readConfiguration } from './platform/config/read-configuration.js';
import { OperatorError, reportFailure } from './platform/errors/operator-error.js';
import { makeDoctorCommand } from './platform/doctor/doctor-command.js';
import { reasonOf } from './platform/errors/describe-error.js';

/** Loads the application. Only commands that need it call this: loading takes most of the time of a command. */
const application = () => import('./app.js');

const [, file = '', command] = process.argv;

// Makes usage lines that can be pasted: npm scripts have the names of commands, and need two dashes before arguments.
const isScript = command !== undefined && process.env['npm_lifecycle_event'] === command;
const program = new Command(isScript ? 'npm run --silent' : `node ${relative('', file)}`)
  .configureHelp({ commandUsage: (of) => new Help().commandUsage(of).replace(/^npm run --silent \w+/, '$& --') })
  .description('Operates the Items Service. Results go to standard output, messages to standard error.')
  .version(SERVICE_VERSION)
  .configureOutput({
    // Messages repeat a wrong argument, which may be a token in the wrong position.
    writeErr: (text) => process.stderr.write(hideCredentials(text)),
    // Arguments that are too many may be the parts of a token that was copied with a line break.
    outputError: (text, write) => write(text.replace(/^(error: too many arguments.*? but got \d+):.*/s, '$1.\n')),
  });

addTokenCommands(program.command('token').description('manage access tokens'), withDatabase);

program
  .command('migrate')
  .description('apply pending migrations')
  .action(() =>
    withContext(async (app) => {
      const database = await databaseOf(app);
      const applied = await database.migrate().catch(throwForOperator);
      const result = applied === 0 ? 'No pending migrations: nothing to apply.' : `Migrations applied: ${applied}.`;
      process.stderr.write(`${result}\n`);
      await database.checkSchema().catch(throwForOperator);
    }),
  );

makeDoctorCommand(program.command('doctor'), application);

program
  .command('openapi')
  .description('print the OpenAPI document')
  .argument('[file]', 'file to write instead of standard output')
  .action(async (output: string | undefined) => {
    const { createApp } = await application();
    const { OpenApiDocument } = await import('./platform/openapi/openapi-document.js');
    const app = await createApp(Object.assign(new Configuration(), { LOG_LEVEL: 'silent' }));
    const document = `${JSON.stringify(app.get(OpenApiDocument).get(), null, 2)}\n`;
    if (output === undefined) {
      await promisify((done: (error?: Error | null) => void) => process.stdout.write(document, done))();
    } else {
      await writeFile(output, document);
    }
    // Connections that features have opened, such as those of queues, would keep the process alive.
    process.exit();
  });

await program.parseAsync().catch(reportFailure);

/**
 * Runs a function with the application's providers, without a server. Only `migrate` changes the schema. Commands do not
 * read the tokens file, so that jobs need not mount it.
 */
async function withContext<T>(run: (app: INestApplicationContext) => Promise<T>): Promise<T> {
  const environment = { ...loadEnvironment(), MIGRATE_ON_START: 'false', AUTH_TOKENS_FILE: undefined };
  // Loaded before the configuration is read: features register their environment variables when they are imported.
  const { createContext } = await application();
  const app = await createContext(readConfiguration(environment));
  try {
    return await run(app);
  } finally {
    await app.close();
  }
}

function withDatabase<T>(run: (app: INestApplicationContext) => Promise<T>): Promise<T> {
  return withContext(async (app) => {
    await (await databaseOf(app)).connect().catch(throwForOperator);
    const { isUnavailable } = await import('./platform/database/database-problem.js');
    return run(app).catch((error: unknown) =>
      isUnavailable(error) ? throwForOperator(error) : Promise.reject(error as Error),
    );
  });
}

async function databaseOf(app: INestApplicationContext) {
  const { Database } = await import('./platform/database/database.js');
  return app.get(Database);
}

function throwForOperator(error: unknown): never {
  if (error instanceof OperatorError || !Error.isError(error)) {
    throw error;
  }
  throw new OperatorError(`The database cannot be used: ${reasonOf(error)}. Run "doctor" for details.`);
}
