import 'reflect-metadata';
import { writeFile } from 'node:fs/promises';
import { type INestApplicationContext, Logger } from '@nestjs/common';
import { Command } from 'commander';
import { createApp, createContext } from './app.js';
import { hideCredentials } from './platform/auth/hide-credentials.js';
import { addTokenCommands } from './platform/auth/token-commands.js';
import { Configuration } from './platform/config/configuration.js';
import { loadEnvironment, readConfiguration } from './platform/config/read-configuration.js';
import { OperatorError } from './platform/config/operator-error.js';
import { reportFailure } from './platform/config/report-failure.js';
import { Database } from './platform/database/database.js';
import { makeDoctorCommand } from './platform/doctor/doctor-command.js';
import { reasonOf } from './platform/observability/describe-error.js';
import { OpenApiDocument } from './platform/openapi/openapi-document.js';

const program = new Command('items')
  .description('Operates the Items Service. Results go to standard output, all else to standard error.')
  // What is said of a wrong argument repeats it, and it may be a token in the wrong place.
  .configureOutput({ writeErr: (text) => process.stderr.write(hideCredentials(text)) });

addTokenCommands(program.command('token').description('manage access tokens'), withDatabase);

program
  .command('migrate')
  .description('apply the migrations that the database does not have yet')
  .action(() =>
    withContext(async (app) => {
      const applied = await app.get(Database).migrate().catch(explain);
      if (applied === 0) {
        new Logger('Database').log('nothing to apply');
      }
    }),
  );

makeDoctorCommand(program.command('doctor'), createContext);

program
  .command('openapi')
  .description('print the OpenAPI document')
  .argument('[file]', 'to write it to, instead of standard output')
  .action(async (file: string | undefined) => {
    const app = await createApp(Object.assign(new Configuration(), { LOG_LEVEL: 'silent' }));
    const document = `${JSON.stringify(app.get(OpenApiDocument).get(), null, 2)}\n`;
    if (file === undefined) {
      process.stdout.write(document);
    } else {
      await writeFile(file, document);
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

function withDatabase<T>(run: (app: INestApplicationContext) => Promise<T>): Promise<T> {
  return withContext(async (app) => {
    await app.get(Database).connect().catch(explain);
    return run(app);
  });
}

/** Errors of the database are for the operator to fix. */
function explain(error: unknown): never {
  if (error instanceof OperatorError || !Error.isError(error)) {
    throw error;
  }
  throw new OperatorError(`The database cannot be used: ${reasonOf(error)}`);
}
