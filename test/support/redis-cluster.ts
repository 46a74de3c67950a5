import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { RedisServer } from './redis-server.js';

/** A Redis Cluster of three masters without replicas. */
export class RedisCluster {
  private readonly addresses: string[];

  private constructor(readonly nodes: readonly RedisServer[]) {
    this.addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
  }

  static async start(): Promise<RedisCluster> {
    const ports = [await freePort(), await freePort(), await freePort()];
    const settings = { 'cluster-enabled': 'yes', 'cluster-node-timeout': '1000' };
    const nodes = ports.map((bus) => RedisServer.start({ ...settings, 'cluster-port': String(bus) }));
    const cluster = new RedisCluster(await Promise.all(nodes));
    await promisify(execFile)('redis-cli', ['--cluster', 'create', ...cluster.addresses, '--cluster-yes']);
    await cluster.isWhole();
    return cluster;
  }

  get url(): string {
    return `redis+cluster://${this.addresses.join(',')}`;
  }

  /** Waits until every node finds that all slots are served. */
  isWhole(): Promise<void> {
    return eventually(async () => {
      const infos = await Promise.all(this.nodes.map((node) => node.command('CLUSTER', 'INFO').catch(() => '')));
      return infos.every((info) => String(info).includes('cluster_state:ok'));
    });
  }

  keys(): Promise<string[][]> {
    return Promise.all(this.nodes.map(async (node) => (await node.command('KEYS', '*')) as string[]));
  }

  /** Lets another node serve the slot of a key, with the keys that are in it, while they are in use. */
  async move(key: string, from: RedisServer, to: RedisServer): Promise<void> {
    const slot = Number(await from.command('CLUSTER', 'KEYSLOT', key));
    const [source, target] = (await Promise.all([from, to].map((node) => node.command('CLUSTER', 'MYID')))) as [string, string];
    await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source);
    await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target);
    const keys = (await from.command('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[];
    await from.command('MIGRATE', '127.0.0.1', to.port, '', 0, 5000, 'KEYS', ...keys);
    await to.command('CLUSTER', 'SETSLOT', slot, 'NODE', target);
    for (const node of this.nodes) await node.command('CLUSTER', 'SETSLOT', slot, 'NODE', target);
  }
}
