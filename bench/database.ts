import { onServerDatabase } from '../test/support/test-database.ts';

const { BENCH_DATABASE_URL: SERVER_URL = 'postgres://postgres@127.0.0.1:5432/postgres' } = process.env;
const NAME = `items_bench_${process.pid}`;

/** Creates the database of this run. @returns its URL and how to drop it */
export async function createDatabase(): Promise<{ url: string; drop: () => Promise<void> }> {
  await onServerDatabase(SERVER_URL, `CREATE DATABASE ${NAME}`);
  const url = new URL(SERVER_URL);
  url.pathname = `/${NAME}`;
  return { url: url.href, drop: () => onServerDatabase(SERVER_URL, `DROP DATABASE IF EXISTS ${NAME} WITH (FORCE)`) };
}
