import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { promisify } from 'node:util';
import { query } from './query.js';

/** The variables of a service's own database, and a function that removes it before the end of the run. */
export interface TestDatabase {
  environment: { DATABASE_URL: string } | { DATA_DIR: string };
  drop(): Promise<void>;
}

/** A database without rows: an empty one on the server at `TEST_DATABASE_URL` if that is set, otherwise embedded with its tables. */
export function createTestDatabase(template: 'empty' | 'migrated' = 'migrated'): Promise<TestDatabase> {
  const { TEST_DATABASE_URL: serverUrl } = process.env;
  return serverUrl ? createOnServer(serverUrl) : createEmbedded(template);
}

/** Where a database on the server is. @param role - connects, instead of the one of the server's URL */
export function databaseUrlOf({ environment }: TestDatabase, role?: string): string {
  if (!('DATABASE_URL' in environment)) {
    throw new Error('These tests need a PostgreSQL server: set TEST_DATABASE_URL.');
  }
  const url = new URL(environment.DATABASE_URL);
  return role === undefined ? url.href : Object.assign(url, { username: role }).href;
}

/** The tables of a database, of which no process uses an embedded one. */
export async function tablesOf(database: TestDatabase): Promise<string[]> {
  const rows = await runOn(database, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
  return rows.map(({ tablename }) => tablename as string);
}

/** Runs statements on a database, of which no process uses an embedded one. @returns the rows of the last one */
export async function runOn({ environment }: TestDatabase, ...statements: string[]): Promise<Record<string, unknown>[]> {
  if ('DATABASE_URL' in environment) {
    let rows: Record<string, unknown>[] = [];
    for (const statement of statements) rows = await query(environment.DATABASE_URL, statement);
    return rows;
  }
  const pglite = await PGlite.create(join(environment.DATA_DIR, 'postgresql'));
  const results = await pglite.exec(statements.join(';'));
  await pglite.close();
  return results.at(-1)?.rows ?? [];
}

let counter = 0;

async function createOnServer(serverUrl: string): Promise<TestDatabase> {
  counter += 1;
  const name = `${process.env['TEST_RUN_DATABASES']}${process.pid}_${counter}_${Date.now()}`;
  await query(serverUrl, `CREATE DATABASE ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  const drop = async () => void (await query(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
  return { environment: { DATABASE_URL: url.href }, drop };
}

/** An empty database in a separate directory. */
export async function createEmbedded(
  template: 'empty' | 'migrated' = 'migrated',
): Promise<TestDatabase & { environment: { DATA_DIR: string } }> {
  const DATA_DIR = await mkdtemp(join(directoryOf('TEST_COPIES_DIRECTORY'), 'data-'));
  // In a separate process: Node's functions take several times as long for a thousand files.
  await promisify(execFile)('cp', ['-r', `${join(directoryOf('TEST_TEMPLATES_DIRECTORY'), template)}/.`, DATA_DIR]);
  // Removed with the directory of the whole run: the process that used it may still be ending.
  return { environment: { DATA_DIR }, drop: () => Promise.resolve() };
}

/** A directory of this test run, removed at its end. */
export function testDirectory(): string {
  return directoryOf('TEST_RUN_DIRECTORY');
}

function directoryOf(variable: string): string {
  const directory = process.env[variable];
  if (!directory) {
    throw new Error('Run the tests with npm test: its global setup makes the directories they work in.');
  }
  return directory;
}
