import { PostgresServer } from '../postgres-server.js';
import { query } from '../query.js';
import { type Reset, StatementProxy } from '../statement-proxy.js';
import { TcpProxy } from '../tcp-proxy.js';
import { issueToken } from '../tokens.js';
import type { Chain } from './rows.js';
import { makeDatabases, mountDiskOfTables, serverUrl, shared } from './servers.js';

/** 16 KB that cannot be compressed. */
const bulk = () =>
  String.fromCodePoint(...Array.from({ length: 4096 }, () => 0x10000 + Math.floor(Math.random() * 0xf0000)));

/** Faults of a server. */
export async function server(): Promise<Chain> {
  const postgres = await PostgresServer.start({ autovacuum: 'off' });
  const disk = mountDiskOfTables(128);
  await postgres.query(`CREATE TABLESPACE small LOCATION '${disk.directory}'`);
  const [DATABASE_URL, ...emptyUrls] = await makeDatabases(postgres.url, 'matrix', 4, 'small');
  const insert = 'INSERT INTO items (id, name, description) VALUES (gen_random_uuid(), $1, $2)';
  const isInserted = () =>
    query(DATABASE_URL, insert, ['filler', bulk()]).then(
      () => true,
      () => false,
    );
  const faults: Chain['faults'] = {
    'PostgreSQL is down': { begin: () => postgres.stop('immediate'), end: () => postgres.start() },
    'PostgreSQL does not respond': { begin: () => postgres.signal('SIGSTOP'), end: () => postgres.signal('SIGCONT') },
    'PostgreSQL is read-only': {
      begin: () => postgres.set('default_transaction_read_only', 'on'),
      end: () => postgres.set('default_transaction_read_only', 'off'),
    },
    'The disk of PostgreSQL is full': {
      begin: async () => {
        disk.fill();
        // The tables have free pages.
        while (await isInserted());
      },
      end: disk.free,
      description: bulk(),
    },
  };
  return { faults, subjects: { environment: { DATABASE_URL }, emptyUrls, token: await issueToken({ DATABASE_URL }) } };
}

const ANY_STATEMENT = /^\s*(?:SELECT|INSERT|UPDATE|CREATE)/;

const RESETS: Readonly<Record<string, Reset>> = {
  'Connections break at `BEGIN`': { at: /^(?:BEGIN|START TRANSACTION)/, stage: 'before' },
  'Connections break before a statement': { at: ANY_STATEMENT, stage: 'before' },
  'Connections break after a statement': { at: ANY_STATEMENT, stage: 'after' },
  'Connections break before `COMMIT`': { at: /^COMMIT/, stage: 'before' },
  'Connections break after `COMMIT`': { at: /^COMMIT/, stage: 'after' },
};

export async function connections(): Promise<Chain> {
  const proxy = await StatementProxy.start(serverUrl);
  const [url, ...empty] = await makeDatabases(serverUrl, shared('connections'), 5);
  const DATABASE_URL = proxy.to(url);
  const faults = Object.fromEntries(
    Object.entries(RESETS).map(([name, reset]) => [
      name,
      { begin: () => (proxy.reset = reset), end: () => (proxy.reset = undefined) },
    ]),
  );
  const emptyUrls = empty.map((each) => proxy.to(each));
  return { faults, subjects: { environment: { DATABASE_URL }, emptyUrls, token: await issueToken({ DATABASE_URL }) } };
}

/** Synchronous replication: otherwise a failover could lose acknowledged items. */
export async function failover(): Promise<Chain> {
  const primary = await PostgresServer.start({ synchronous_standby_names: '*' });
  const standby = await PostgresServer.startStandby(primary, { wal_retrieve_retry_interval: '100ms' });
  const proxy = await TcpProxy.start(primary.url);
  const urls = await makeDatabases(primary.url, 'matrix', 2);
  const [DATABASE_URL = '', ...emptyUrls] = urls.map(
    (url) => Object.assign(new URL(url), { port: new URL(proxy.url).port }).href,
  );
  const faults: Chain['faults'] = {
    'PostgreSQL is slow': { begin: () => (proxy.delay = 100), end: () => (proxy.delay = 0) },
    'PostgreSQL is a standby': {
      begin: async () => {
        await primary.stop('immediate');
        proxy.lead(standby.url);
      },
      end: () => standby.query('SELECT pg_promote()'),
    },
  };
  return { faults, subjects: { environment: { DATABASE_URL }, emptyUrls, token: await issueToken({ DATABASE_URL }) } };
}
