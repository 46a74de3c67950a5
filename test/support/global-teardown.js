import { rm } from 'node:fs/promises';
import { Client } from 'pg';

export default async function globalTeardown() {
  const { TEST_RUN_DIRECTORY, TEST_TEMPLATES_DIRECTORY, TEST_RUN_DATABASES, TEST_DATABASE_URL, TEST_DATABASES_SHARED } =
    process.env;
  if (TEST_DATABASES_SHARED) return;
  for (const directory of [TEST_RUN_DIRECTORY, TEST_TEMPLATES_DIRECTORY])
    await rm(directory, { recursive: true, force: true });
  if (!TEST_DATABASE_URL) return;
  const client = new Client(TEST_DATABASE_URL);
  await client.connect();
  const databases = 'SELECT datname AS name FROM pg_database WHERE starts_with(datname, $1)';
  const { rows } = await client.query(databases, [TEST_RUN_DATABASES]);
  for (const { name } of rows) await client.query(`DROP DATABASE ${name} WITH (FORCE)`);
  await client.end();
}
