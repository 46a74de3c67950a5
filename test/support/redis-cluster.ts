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
}
