// Imported before everything else, some of which an older Node could not even load.
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { OperatorError } from './operator-error.js';
import { reportFailure } from './report-failure.js';

// Node's diagnostic reports would show every variable of the environment, and with them the passwords of the database and of Redis.
process.report.excludeEnv = true;

// Node would end the process, too, but print all properties of the error: the parameters of a statement, for example.
process.on('uncaughtException', reportFailure);
process.on('unhandledRejection', reportFailure);

// Older releases lack APIs that rare code paths use.
if (Number.parseInt(process.versions.node, 10) < 26) {
  const remedy =
    'Use the npm scripts (`npm run start:prod`, `npm run doctor`, `npm run --silent token --`), which run on the Node.js 26 that `npm ci` installs, or install Node.js 26.';
  reportFailure(new OperatorError(`This is Node.js ${process.versions.node}, and the service needs 26 or newer. ${remedy}`));
}

// Process 1 of a container has no default reaction to signals: until the application handles them, they end the process here.
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, (_name: NodeJS.Signals, number: number) => {
    if (process.listenerCount(signal) === 1) {
      process.exit(128 + number);
    }
  });
}

// A first page takes 5 to 13 % less processor time without it, a create 6 to 18 % (docs/adr/0027).
setFlagsFromString('--no-allocation-site-pretenuring');

// Code that Node compiled once need not be compiled again.
module.enableCompileCache(fileURLToPath(new URL('.cache', import.meta.url)));
