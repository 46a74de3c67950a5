import { hash } from 'node:crypto';
import type { DataSource, QueryRunner } from 'typeorm';

/** Keeps existing digests, which show whether a migration was changed after it had been applied. */
const STORE = 'UPDATE migrations SET digest = value FROM json_each_text($1) WHERE name = key AND digest IS NULL';

const CHANGED = `SELECT name FROM migrations JOIN json_each_text($1) ON name = key AND digest <> value ORDER BY id`;

/** Stores the digest of each applied migration that has none. @param runner - may change the table `migrations` */
export async function storeDigests(dataSource: DataSource, runner: QueryRunner): Promise<void> {
  await runner.query(STORE, [digestsOf(dataSource)]);
}

/** Names of the migrations that were changed after they had been applied. */
export async function changedMigrations(dataSource: DataSource): Promise<string[]> {
  const changed = await dataSource.query<{ name: string }[]>(CHANGED, [digestsOf(dataSource)]);
  return changed.map(({ name }) => name);
}

/** The SHA-256 of the SQL of each migration by name, as JSON. Spaces and migrations that are code do not count. */
function digestsOf({ migrations }: DataSource): string {
  const digests = migrations.flatMap((migration): [string, string][] => {
    const { name = migration.constructor.name, statements } = migration as { name?: string; statements?: readonly string[] };
    return statements ? [[name, hash('sha256', statements.join(';').replaceAll(/\s+/g, ' '))]] : [];
  });
  return JSON.stringify(Object.fromEntries(digests));
}
