import { openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Type } from '@nestjs/common';
import type { Api } from './api.js';
import type { LogLine } from './process.js';
import { type Service, startService } from './service.js';
import { testDirectory } from './test-database.js';

/** An application in this process whose log can be read once it has stopped. */
export interface LoggedService {
  app: Service['app'];
  api: Api;
  /** @returns the lines of its log */
  stop(): Promise<LogLine[]>;
}

/** Starts the application with its log in a file, as if that were the standard output of the process. */
export async function startLogged(environment: NodeJS.ProcessEnv, root: Type): Promise<LoggedService> {
  const path = join(testDirectory(), `log-${process.pid}-${Date.now()}`);
  const { fd } = process.stdout;
  // Never closed: what an export that is under way says after the end would be written to whatever gets its number next.
  process.stdout.fd = openSync(path, 'a') as typeof fd;
  try {
    const service = await startService({ LOG_LEVEL: 'info', LOG_FORMAT: 'json', ...environment }, undefined, root);
    return {
      app: service.app,
      api: service.api,
      stop: async () => {
        await service.stop();
        const text = await readFile(path, 'utf8');
        return text.split('\n').flatMap((line) => (line === '' ? [] : (JSON.parse(line) as LogLine)));
      },
    };
  } finally {
    process.stdout.fd = fd;
  }
}
