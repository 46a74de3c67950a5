import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { startApp } from './app.js';
import { loadEnvironment, readConfiguration } from './platform/config/read-configuration.js';
import { reportFailure } from './platform/config/report-failure.js';
import { Database } from './platform/database/database.js';
import { Drain } from './platform/http/drain.js';

try {
  const app = await startApp(readConfiguration(loadEnvironment()));
  const drain = app.get(Drain);
  process.off('unhandledRejection', reportFailure).on('unhandledRejection', (error) => {
    endAfterRejection(error, drain);
  });
  await app.get(Database).started();
} catch (error) {
  reportFailure(error);
}

/** No code handles an error. The requests under way are served to their end, as on SIGTERM; the exit code is 1. */
function endAfterRejection(error: unknown, drain: Drain): void {
  new Logger('Process').fatal({ msg: 'unhandled rejection: the service ends', err: error });
  // A second signal would cut these requests off.
  if (!drain.hasBegun) {
    process.once('exit', () => {
      process.exitCode = 1;
    });
    process.kill(process.pid, 'SIGTERM');
  }
}
