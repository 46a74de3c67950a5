import { Redis } from 'ioredis';
import { Daemon, serverDirectory } from './daemon.js';
import { freePort } from './free-port.js';

/** Settings as on the command line, without the dashes. */
export type RedisSettings = Readonly<Record<string, string>>;

export async function redisCommand(url: string, name: string, ...args: (string | number)[]): Promise<unknown> {
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
  private daemon: Daemon;

  private constructor(
    readonly port: number,
    private settings: RedisSettings,
  ) {
    this.daemon = this.launch();
  }

  static async start(settings: RedisSettings = {}): Promise<RedisServer> {
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
  kill(): Promise<void> {
    return this.daemon.end('SIGKILL');
  }

  async restart(settings = this.settings): Promise<void> {
    this.settings = settings;
    this.daemon = this.launch();
    await this.isUp();
  }

  /** Keeps connections open without responding. */
  pause(): void {
    this.daemon.signal('SIGSTOP');
  }

  resume(): void {
    this.daemon.signal('SIGCONT');
  }

  private launch(): Daemon {
    const own = { bind: '127.0.0.1', port: this.port, dir: this.directory, save: '', 'repl-diskless-sync-delay': 0 };
    const settings = Object.entries({ ...own, ...this.settings });
    const args = settings.flatMap(([name, value]) => [`--${name}`].concat(String(value).split(' ')));
    return new Daemon('redis-server', args);
  }

  /** Waits until it accepts commands and, as a replica, is in sync with its master. */
  private isUp(): Promise<void> {
    return this.daemon.becomes(async () =>
      /role:master|master_link_status:up/.test(String(await this.command('INFO', 'replication'))),
    );
  }
}
