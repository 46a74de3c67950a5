import { execFileSync } from 'node:child_process';
import { cp, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedDatabase } from '#service/platform/database/embedded-database';

/** Makes the embedded databases that tests copy, an empty one and one with its tables: making one takes seconds. */
export default async function globalSetup() {
  const directory = await mkdtemp(join(tmpdir(), 'items-test-'));
  const empty = join(directory, 'empty');
  const database = await EmbeddedDatabase.open(empty);
  await database.close();
  const migrated = join(directory, 'migrated');
  await cp(empty, migrated, { recursive: true });
  const env = { DATA_DIR: migrated, NODE_COMPILE_CACHE: join(directory, 'compiled'), LOG_LEVEL: 'error' };
  execFileSync(process.execPath, ['dist/cli.js', 'migrate'], { env });
  process.env.ITEMS_TEST_DIRECTORY = directory;
}
