import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { startApp } from './app.js';
import { loadEnvironment, readConfiguration } from './platform/config/read-configuration.js';
import { reportFailure } from './platform/errors/operator-error.js';
import { Database } from './platform/database/database.js';

try {
  const app = await startApp(readConfiguration(loadEnvironment()));
  process.off('unhandledRejection', reportFailure).on('unhandledRejection', endAfterRejection);
  await app.get(Database).started;
} catch (error) {
  reportFailure(error);
}

/** Shuts down gracefully after an unhandled error, as on SIGTERM, with exit code 1. */
function endAfterRejection(error: unknown): void {
  new Logger('Process').fatal({ msg: 'unhandled rejection: the service ends', err: error });
  process.once('exit', () => {
    process.exitCode = 1;
  });
  process.kill(process.pid, 'SIGTERM');
}
