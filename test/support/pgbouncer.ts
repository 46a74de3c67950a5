import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accountOf, Child, serverDirectory } from './child.js';
import { freePort } from './free-port.js';
import { query } from './query.js';

/** Makes PgBouncer ignore the time limits that the service sends, which it would reject. */
export const IGNORE_LIMITS =
  'ignore_startup_parameters = statement_timeout, lock_timeout, idle_in_transaction_session_timeout';

/** Starts PgBouncer in front of a database, in transaction mode, with as few settings as it starts with and one more. @returns its URL */
export async function startPgBouncer(databaseUrl: string, poolSize: number, setting = ''): Promise<string> {
  const account = accountOf('postgres');
  const [port, directory] = [await freePort(), serverDirectory('pgbouncer', account)];
  const { hostname, port: serverPort, username, pathname } = new URL(databaseUrl);
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
${setting}
`;
  writeFileSync(file, configuration);
  writeFileSync(users, `"${username}" ""\n`);
  const url = `postgres://${username}@127.0.0.1:${port}/${database}`;
  await new Child('pgbouncer', [file], account).becomes(async () => (await query(url, 'SELECT 1')).length === 1);
  return url;
}
