import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { Redis } from 'ioredis';
import { freePort } from '../../test/support/free-port.ts';

/** A Redis server of this run, which may be killed and paused. It keeps nothing on disk. */
export class RedisServer {
  private readonly port: number;
  private process: ChildProcess;

  private constructor(port: number) {
    this.port = port;
    this.process = run(port);
  }

  static async start(): Promise<RedisServer> {
    const server = new RedisServer(await freePort());
    await server.answers();
    return server;
  }

  get pid(): number | undefined {
    return this.process.pid;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** @param name - of a signal, as SIGSTOP pauses and SIGCONT continues */
  signal(name: NodeJS.Signals): void {
    this.process.kill(name);
  }

  async restart(): Promise<void> {
    this.process = run(this.port);
    await this.answers();
  }

  async stop(): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      const ended = once(this.process, 'close');
      this.process.kill('SIGKILL');
      await ended;
    }
  }

  private async answers(): Promise<void> {
    const client = new Redis(this.port, { retryStrategy: () => 20, maxRetriesPerRequest: null });
    client.on('error', () => undefined);
    await client.ping();
    client.disconnect();
  }
}

function run(port: number): ChildProcess {
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  return spawn('redis-server', options, { cwd: tmpdir(), stdio: 'ignore' });
}
