import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { QueryResultRow } from 'pg';
import { freePort } from '../../support/free-port.ts';
import { query } from '../../support/query.ts';
import { accountOf, newDirectory, Program } from './program.ts';

/** Where Debian keeps the programs of each version. */
const VERSIONS = '/usr/lib/postgresql';

/** With `remote_apply`, a standby can read what is acknowledged. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  wal_retrieve_retry_interval: '100ms',
  synchronous_commit: 'remote_apply',
  // Otherwise slow filters there would hold up commits here, for as long as they hold up what they conflict with.
  max_standby_streaming_delay: '1s',
};

/** Modes of `pg_ctl stop -m`: `fast` disconnects clients, `immediate` is a crash. */
const STOP_SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const;

/** A PostgreSQL of the test. */
export class Postgres {
  readonly port: number;
  private readonly directory = newDirectory('postgres', accountOf('postgres'));
  private readonly data = join(this.directory, 'data');
  private server: Program | undefined;

  private constructor(port: number) {
    this.port = port;
  }

  static startPrimary(): Promise<Postgres> {
    return Postgres.make('initdb', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '-U', 'postgres');
  }

  /** A copy of a primary, which follows it. From now on the primary acknowledges only what the copy has, too. */
  static async startStandbyOf(primary: Postgres): Promise<Postgres> {
    const standby = await Postgres.make('pg_basebackup', '-d', primary.url, '--write-recovery-conf', '--checkpoint=fast');
    await primary.set('synchronous_standby_names', "'*'");
    const inSync = `SELECT FROM pg_stat_replication WHERE sync_state = 'sync'`;
    await primary.server?.becomes(async () => (await primary.query(inSync)).length === 1);
    return standby;
  }

  private static async make(program: string, ...options: string[]): Promise<Postgres> {
    const server = new Postgres(await freePort());
    await promisify(execFile)(pathOf(program), ['-D', server.data, ...options], { cwd: '/', ...accountOf('postgres') });
    await server.start();
    return server;
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  async start(): Promise<void> {
    const settings = Object.entries({ ...SETTINGS, port: this.port, unix_socket_directories: this.directory });
    const options = settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    this.server = new Program(pathOf('postgres'), ['-D', this.data, ...options], accountOf('postgres'), 'SIGQUIT');
    await this.server.becomes(async () => (await this.query('SELECT 1')).length === 1);
  }

  async stop(mode: keyof typeof STOP_SIGNALS): Promise<void> {
    await this.server?.end(STOP_SIGNALS[mode]);
  }

  /** Makes a primary of a standby, and waits until it accepts changes. */
  async promote(): Promise<void> {
    await this.query('SELECT pg_promote()');
  }

  /** @returns a function after which it continues */
  freeze(): () => void {
    return this.server?.freeze() ?? (() => undefined);
  }

  query<Row extends QueryResultRow>(statement: string, parameters?: unknown[]): Promise<Row[]> {
    return query<Row>(this.url, statement, parameters);
  }

  private async set(parameter: string, value: string): Promise<void> {
    await this.query(`ALTER SYSTEM SET ${parameter} = ${value}`);
    await this.query('SELECT pg_reload_conf()');
  }
}

function pathOf(program: string): string {
  const [newest = ''] = readdirSync(VERSIONS).toSorted((a, b) => Number(b) - Number(a));
  return join(VERSIONS, newest, 'bin', program);
}
