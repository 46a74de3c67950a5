import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedDatabase } from '#service/platform/database/embedded-database';

/** Makes one empty embedded database that every test copies: creating it takes seconds, copying it does not. */
export default async function globalSetup() {
  const directory = await mkdtemp(join(tmpdir(), 'items-test-'));
  const template = join(directory, 'template');
  const database = await EmbeddedDatabase.open(template);
  await database.close();
  process.env.ITEMS_TEST_DIRECTORY = directory;
}
