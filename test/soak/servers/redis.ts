import { Redis } from 'ioredis';
import { freePort } from '../../support/free-port.ts';
import { newDirectory, Program } from './program.ts';

/** A Redis of the test. It keeps nothing when it ends. */
export class RedisServer {
  readonly url: string;
  private readonly port: number;
  private readonly directory = newDirectory('redis');
  private server: Program | undefined;

  private constructor(port: number) {
    this.port = port;
    this.url = `redis://127.0.0.1:${port}`;
  }

  static async start(): Promise<RedisServer> {
    const redis = new RedisServer(await freePort());
    await redis.start();
    return redis;
  }

  async start(): Promise<void> {
    const args = ['--bind', '127.0.0.1', '--port', String(this.port), '--dir', this.directory, '--save', ''];
    this.server = new Program('redis-server', args);
    await this.server.becomes(() => this.connected(async (client) => Boolean(await client.ping())));
  }

  async kill(): Promise<void> {
    await this.server?.end('SIGKILL');
  }

  /** How many keys there are, and those that do not expire. */
  keys(): Promise<{ count: number; permanent: string[] }> {
    return this.connected(async (client) => {
      const keys = await client.keys('*');
      const times = await Promise.all(keys.map((key) => client.pttl(key)));
      // -2: it has expired meanwhile.
      return { count: keys.length, permanent: keys.filter((_key, index) => times[index] === -1) };
    });
  }

  private async connected<T>(use: (client: Redis) => Promise<T>): Promise<T> {
    const client = new Redis(this.url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return await use(client);
    } finally {
      client.disconnect();
    }
  }
}
