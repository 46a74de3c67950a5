// Imported before everything else, because an older Node.js cannot load some of it.
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { OperatorError, reportFailure } from '../errors/operator-error.js';

// Node's diagnostic reports contain all environment variables, and thus the passwords of the database and Redis.
process.report.excludeEnv = true;

// By default, Node prints all properties of the error, such as the parameters of a statement.
process.on('uncaughtException', reportFailure);
process.on('unhandledRejection', reportFailure);

// Older releases lack APIs that rare code paths use.
if (Number.parseInt(process.versions.node, 10) < 26) {
  const remedy =
    'Use the npm scripts (`npm run start:prod`, `npm run doctor`, `npm run --silent token --`), which run on the ' +
    'Node.js 26 that `npm ci` installs, or install Node.js 26.';
  reportFailure(new OperatorError(`This is Node.js ${process.versions.node}, and the service needs 26 or newer. ${remedy}`));
}

// Process 1 of a container ignores signals by default: until the application handles them, they end the process here.
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, (_name: NodeJS.Signals, number: number) => {
    if (process.listenerCount(signal) === 1) {
      process.exit(128 + number);
    }
  });
}

// By default, SIGUSR2 ends the process. Once the service runs, it switches the log level.
process.on('SIGUSR2', () => undefined);

// At most half of Node's threads look up names: if a DNS server does not respond, look-ups for Redis, the issuer or a
// collector must leave some to the database. This must precede the first use of a thread.
process.env['UV_THREADPOOL_SIZE'] ??= '16';

// A first page takes 5 to 13 % less CPU time without this feature of V8, a create 6 to 18 % (docs/adr/0027).
setFlagsFromString('--no-allocation-site-pretenuring');
// Collects garbage at 1.5 times the size of live objects: at most 244 MB under load, not 347, for 0 to 5 % of CPU time.
setFlagsFromString('--heap-growing-percent=50');

// Makes stacks in the log name the files of `src`.
module.setSourceMapsSupport(true);

module.enableCompileCache(fileURLToPath(new URL('../../.cache', import.meta.url)));
