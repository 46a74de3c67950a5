import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { QueryResultRow } from 'pg';
import { accountOf, Child, serverDirectory } from './child.js';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { query } from './query.js';

/** Where Debian keeps the programs of each version. */
const VERSIONS = '/usr/lib/postgresql';

/** Configuration parameters, as on the command line of the server. */
type Settings = Readonly<Record<string, string>>;

/** Modes of `pg_ctl stop -m`: `fast` rolls back and disconnects clients, `immediate` is a crash with recovery at the next start. */
const STOP_SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const;

/** Settings of a server that listens on every address, and asks all roles but the superuser for their password. */
export function askingForPasswords(): Settings {
  const file = join(serverDirectory('hba', accountOf('postgres')), 'pg_hba.conf');
  writeFileSync(file, 'local all all trust\nhost all,replication postgres all trust\nhost all all all scram-sha-256\n');
  return { hba_file: file, listen_addresses: '*' };
}

export class PostgresServer {
  private readonly directory = serverDirectory('postgres', accountOf('postgres'));
  private readonly data = join(this.directory, 'data');
  private server: Child | undefined;

  private constructor(
    readonly port: number,
    private readonly settings: Settings,
  ) {}

  static start(settings: Settings = {}): Promise<PostgresServer> {
    return PostgresServer.make(settings, 'initdb', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '-U', 'postgres');
  }

  /** A copy of another server, which follows it as a hot standby. */
  static startStandby(primary: PostgresServer, settings: Settings = {}): Promise<PostgresServer> {
    const options = ['-d', primary.url, '--write-recovery-conf', '--checkpoint=fast'];
    return PostgresServer.make(settings, 'pg_basebackup', ...options);
  }

  private static async make(settings: Settings, maker: string, ...options: string[]): Promise<PostgresServer> {
    const server = new PostgresServer(await freePort(), settings);
    const account = accountOf('postgres');
    await promisify(execFile)(program(maker), ['-D', server.data, ...options], { cwd: '/', ...account });
    await server.start();
    return server;
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  /** Starts a stopped server, and waits until it accepts connections. */
  async start(): Promise<void> {
    const own = { port: this.port, unix_socket_directories: this.directory, listen_addresses: '127.0.0.1' };
    const options = Object.entries({ ...own, ...this.settings }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    this.server = new Child(program('postgres'), ['-D', this.data, ...options], accountOf('postgres'), 'SIGQUIT');
    await this.server.becomes(async () => (await this.query('SELECT 1')).length === 1);
  }

  async stop(mode: keyof typeof STOP_SIGNALS): Promise<void> {
    await this.server?.end(STOP_SIGNALS[mode]);
  }

  /** @param signal - for all its processes. `SIGSTOP`: connections stay open, and new ones are accepted by the kernel, without a response until `SIGCONT` */
  signal(signal: NodeJS.Signals): void {
    const pid = this.server?.child.pid ?? 0;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
    // The first one is the last to go on, because it ends others.
    for (const each of signal === 'SIGCONT' ? [...children, pid] : [pid, ...children]) process.kill(each, signal);
  }

  /** Waits until a standby has replayed everything that its primary had written at the time of the call. */
  async catchesUpWith(primary: PostgresServer): Promise<void> {
    const [written] = await primary.query<{ position: string }>('SELECT pg_current_wal_lsn() AS position');
    const replayed = 'SELECT WHERE pg_last_wal_replay_lsn() >= $1';
    await eventually(async () => (await this.query(replayed, [written?.position])).length === 1);
  }

  async set(parameter: string, value: string): Promise<void> {
    await this.query(`ALTER SYSTEM SET ${parameter} = ${value}`);
    await this.query('SELECT pg_reload_conf()');
  }

  query<Row extends QueryResultRow>(statement: string, parameters?: unknown[]): Promise<Row[]> {
    return query<Row>(this.url, statement, parameters);
  }
}

function program(name: string): string {
  const [newest = ''] = readdirSync(VERSIONS).toSorted((a, b) => Number(b) - Number(a));
  return join(VERSIONS, newest, 'bin', name);
}
