import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { parseRedisUrl, type RedisLocation } from '../../src/platform/config/redis-url.js';
import { Child, serverDirectory } from './child.js';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';

/** Settings as on the command line, without the dashes. */
type Settings = Readonly<Record<string, string>>;

/** Where the URL of a test leads. */
export function locationOf(url: string): RedisLocation {
  const location = parseRedisUrl(url);
  if (!location) throw new Error('This is not the URL of a Redis.');
  return location;
}

async function redisCommand(url: string, name: string, ...args: (string | number)[]): Promise<unknown> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await client.call(name, ...args);
  } finally {
    client.disconnect();
  }
}

/** A Redis that a test may treat as it likes. It keeps nothing when it ends. */
export class RedisServer {
  private readonly directory = serverDirectory('redis');
  private server: Child;

  private constructor(
    readonly port: number,
    private settings: Settings,
  ) {
    this.server = this.launch();
  }

  static async start(settings: Settings = {}): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), settings);
    await server.isUp();
    return server;
  }

  get url(): string {
    const { requirepass: password } = this.settings;
    return `redis://${password === undefined ? '' : `:${password}@`}127.0.0.1:${this.port}`;
  }

  command(name: string, ...args: (string | number)[]): Promise<unknown> {
    return redisCommand(this.url, name, ...args);
  }

  /** `kill -9`. */
  kill(): Promise<unknown> {
    return this.server.end('SIGKILL');
  }

  async restart(settings = this.settings): Promise<void> {
    this.settings = settings;
    this.server = this.launch();
    await this.isUp();
  }

  /** @param signal - `SIGSTOP`: connections stay open, without a response until `SIGCONT` */
  signal(signal: NodeJS.Signals): void {
    this.server.child.kill(signal);
  }

  private launch(): Child {
    const own = { bind: '127.0.0.1', port: this.port, dir: this.directory, save: '', 'repl-diskless-sync-delay': 0 };
    const settings = Object.entries({ ...own, ...this.settings });
    const args = settings.flatMap(([name, value]) => [`--${name}`].concat(String(value).split(' ')));
    return new Child('redis-server', args);
  }

  /** Waits until it accepts commands and, as a replica, is in sync with its master. */
  private isUp(): Promise<void> {
    return this.server.becomes(async () =>
      /role:master|master_link_status:up/.test(String(await this.command('INFO', 'replication'))),
    );
  }
}

/** Starts a Redis Cluster of three masters without replicas. */
export async function startRedisCluster() {
  const ports = [await freePort(), await freePort(), await freePort()];
  const settings = { 'cluster-enabled': 'yes', 'cluster-node-timeout': '1000' };
  const starts = ports.map((bus) => RedisServer.start({ ...settings, 'cluster-port': String(bus) }));
  const nodes = await Promise.all(starts);
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
  await promisify(execFile)('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-yes']);
  /** Waits until every node finds that all slots are served. */
  const isWhole = () =>
    eventually(async () => {
      const infos = await Promise.all(nodes.map((node) => node.command('CLUSTER', 'INFO').catch(() => '')));
      return infos.every((info) => String(info).includes('cluster_state:ok'));
    });
  await isWhole();
  return { nodes, isWhole, url: `redis+cluster://${addresses.join(',')}` };
}

/** Starts a Redis Sentinel that alone decides, within a second, that a master with a replica is gone, and makes the replica the next one. */
export async function startRedisSentinel(first: RedisServer) {
  const [port, directory] = [await freePort(), serverDirectory('sentinel')];
  const file = join(directory, 'sentinel.conf');
  const configuration = `
bind 127.0.0.1
port ${port}
dir ${directory}
sentinel monitor main 127.0.0.1 ${first.port} 1
sentinel down-after-milliseconds main 500
sentinel failover-timeout main 2000
`;
  writeFileSync(file, configuration);
  const sentinel = new Child('redis-server', [file, '--sentinel']);
  const ask = (subcommand: string) => redisCommand(`redis://127.0.0.1:${port}`, 'SENTINEL', subcommand, 'main');
  await sentinel.becomes(async () => {
    const replicas = (await ask('REPLICAS')) as string[][];
    return replicas.some((fields) => fields.includes('ok') && fields.includes('slave'));
  });
  /** Waits until a server is the master, in the eyes of Sentinel and in its own: Sentinel ends the connections of whom it promotes. */
  const becomesMaster = (server: RedisServer) =>
    sentinel.becomes(async () => {
      const [, master] = (await ask('GET-MASTER-ADDR-BY-NAME')) as string[];
      const [role] = (await server.command('ROLE')) as string[];
      return Number(master) === server.port && role === 'master';
    });
  return { becomesMaster, url: `redis+sentinel://127.0.0.1:${port}/main` };
}
