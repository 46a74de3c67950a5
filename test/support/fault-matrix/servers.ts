import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accountOf, serverDirectory } from '../child.js';
import { query } from '../query.js';
import { mountDisk } from '../small-disk.js';

/** The server that all tests share. */
export const { TEST_DATABASE_URL: serverUrl = '' } = process.env;

/** A prefix of databases on that server. */
export const shared = (name: string) => `${process.env['TEST_RUN_DATABASES']}${process.pid}_${name}`;

/** What the tests of the file put in place, undone in the opposite order. */
const undoing: (() => unknown)[] = [];

afterAll(async () => {
  for (const undo of undoing.toReversed()) await undo();
});

/** Makes a database on a server, and more of them. @returns their URLs */
export async function makeDatabases(
  url: string,
  prefix: string,
  more: number,
  space = 'pg_default',
): Promise<[string, ...string[]]> {
  const names = Array.from({ length: more + 1 }, (_, index) => `${prefix}_${index}`);
  for (const name of names) {
    await query(url, `CREATE DATABASE ${name} TABLESPACE ${space}`);
    undoing.push(() => query(url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`).catch(() => undefined));
  }
  return names.map((name) => Object.assign(new URL(url), { pathname: `/${name}` }).href) as [string, ...string[]];
}

/** A small file system for tables. */
export function mountDiskOfTables(megabytes: number) {
  const disk = mountDisk(megabytes, accountOf('postgres'));
  undoing.push(disk.unmount);
  return disk;
}

/** Names that only the processes that run under `under` know, until they are forgotten: then a server for names receives the questions and does not respond. */
export async function startNames(names: readonly string[]) {
  const [hosts, resolver] = ['hosts', 'resolv.conf'].map((name) => join(serverDirectory('names'), name)) as [string, string];
  // Of any other run on this machine, another one.
  const address = `127.${randomInt(1, 255)}.${randomInt(255)}.${randomInt(1, 255)}`;
  const socket = createSocket('udp4').bind(53, address);
  await once(socket, 'listening');
  undoing.push(() => socket.close());
  writeFileSync(resolver, `nameserver ${address}\n`);
  const know = (known = names) => writeFileSync(hosts, known.map((name) => `127.0.0.1 ${name}\n`).join(''));
  know();
  const script = `mount --bind ${hosts} /etc/hosts && mount --bind ${resolver} /etc/resolv.conf && exec "$0" "$@"`;
  return { know, under: ['unshare', '--mount', 'sh', '-c', script] };
}
