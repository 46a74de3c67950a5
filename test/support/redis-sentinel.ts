import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Daemon, serverDirectory } from './daemon.js';
import { freePort } from './free-port.js';
import { redisCommand, type RedisServer } from './redis-server.js';

/** A Redis Sentinel that alone decides, within a second, that a master is gone, and makes a replica the next one. */
export class RedisSentinel {
  private constructor(
    private readonly port: number,
    private readonly daemon: Daemon,
  ) {}

  /** @param master - with one replica at least, which Sentinel finds by itself */
  static async start(master: RedisServer): Promise<RedisSentinel> {
    const [port, directory] = [await freePort(), serverDirectory('sentinel')];
    const file = join(directory, 'sentinel.conf');
    const configuration = `
bind 127.0.0.1
port ${port}
dir ${directory}
sentinel monitor main 127.0.0.1 ${master.port} 1
sentinel down-after-milliseconds main 500
sentinel failover-timeout main 2000
`;
    writeFileSync(file, configuration);
    const sentinel = new RedisSentinel(port, new Daemon('redis-server', [file, '--sentinel']));
    await sentinel.daemon.becomes(async () => {
      const replicas = (await sentinel.ask('REPLICAS')) as string[][];
      return replicas.some((fields) => fields.includes('ok') && fields.includes('slave'));
    });
    return sentinel;
  }

  get url(): string {
    return `redis+sentinel://127.0.0.1:${this.port}/main`;
  }

  /** Waits until a server is the master, in the eyes of Sentinel and in its own. */
  becomesMaster(server: RedisServer): Promise<void> {
    // Sentinel ends the connections of whom it promotes.
    return this.daemon.becomes(async () => {
      const [, port] = (await this.ask('GET-MASTER-ADDR-BY-NAME')) as string[];
      const [role] = (await server.command('ROLE')) as string[];
      return Number(port) === server.port && role === 'master';
    });
  }

  private ask(subcommand: string): Promise<unknown> {
    return redisCommand(`redis://127.0.0.1:${this.port}`, 'SENTINEL', subcommand, 'main');
  }
}
