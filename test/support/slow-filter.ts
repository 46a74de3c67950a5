import type { Client } from 'pg';

/** A filter that takes long to miss each of the texts of {@link makeFilterSlow}. */
export const SLOW_FILTER = `description.contains("${'a'.repeat(1900)}b")`;

/** Adds items with texts of one letter, in which a pattern of the same letter takes long to be missed. */
export async function makeFilterSlow(client: Client, rows: number): Promise<void> {
  await client.query(`
    INSERT INTO items SELECT (lpad(to_hex(1767225600000 + n), 12, '0') || '70008' || lpad('', 15, '0'))::uuid, 'x', repeat('a', 4096)
    FROM generate_series(1, ${rows}) n`);
}

/** Statements of filters that PostgreSQL runs now in the database of a connection. */
export async function runningFilters(client: Client): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `SELECT count(*)::int FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active' AND query LIKE 'SELECT%items%LIKE $1%'`,
  );
  return rows[0]?.count ?? 0;
}
