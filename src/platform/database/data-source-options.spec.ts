import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Configuration } from '../config/configuration.js';
import { dataSourceOptions, replicaOptions } from './data-source-options.js';
import type { DatabaseClientConfig } from './database-client.js';
import type { DatabaseMetrics } from './database-metrics.js';

it('a read replica that still refuses a new password does not speak for the primary [password-rotation]', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'passwords-')), 'password');
  writeFileSync(path, 'new');
  const url = 'postgres://app@primary/app';
  const configuration = Object.assign(new Configuration(), {
    DATABASE_URL: url,
    DATABASE_READ_URL: 'postgres://app@replica/app',
    DATABASE_PASSWORD_FILE: path,
  });
  const metrics = {} as DatabaseMetrics;
  const passwordsOf = ({ passwords }: DatabaseClientConfig) => passwords;
  const primary = passwordsOf(dataSourceOptions(configuration, { url }, metrics).extra as DatabaseClientConfig);
  const replica = passwordsOf(replicaOptions(configuration, metrics));
  primary?.note('new', false);
  // It has not received the change yet.
  replica?.note('new', true);
  replica?.note('old', false);
  expect([primary?.read(), replica?.read()]).toEqual(['new', 'old']);
});
