import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { accountOf, Daemon, serverDirectory } from './daemon.js';
import { freePort } from './free-port.js';
import { query } from './query.js';

/**
 * PgBouncer in front of a database, in transaction mode, with as few settings as it starts with: it refuses start-up
 * parameters that it does not know, and hands the same few connections to everybody in turn.
 */
export class PgBouncer {
  private constructor(readonly url: string) {}

  /**
   * @param url - of the database behind it
   * @param poolSize - connections to it
   */
  static async start(url: string, poolSize: number): Promise<PgBouncer> {
    const account = accountOf('postgres');
    const [port, directory] = [await freePort(), serverDirectory('pgbouncer', account)];
    const { hostname, port: serverPort, username, pathname } = new URL(url);
    const database = pathname.slice(1);
    const [file, users] = [join(directory, 'pgbouncer.ini'), join(directory, 'users')];
    const configuration = `
[databases]
${database} = host=${hostname} port=${serverPort || '5432'} dbname=${database}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${poolSize}
`;
    await writeFile(file, configuration);
    await writeFile(users, `"${username}" ""\n`);
    const daemon = new Daemon('pgbouncer', [file], account);
    const pooled = `postgres://${username}@127.0.0.1:${port}/${database}`;
    await daemon.becomes(async () => (await query(pooled, 'SELECT 1')).length === 1);
    return new PgBouncer(pooled);
  }
}
