import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../../support/free-port.ts';
import { Log } from './log.ts';
import { Program } from './program.ts';

export type Environment = Readonly<Record<string, string>>;

/** What a process knows about itself: bytes after a garbage collection, and the kinds of its active resources. */
export interface Inside {
  readonly heap: number;
  readonly resources: readonly string[];
}

const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const SERVICE = pathOf('../../../dist/main.js');
const CLI = pathOf('../../../dist/cli.js');
const INSIDE = new URL('../inside.ts', import.meta.url).href;

/** From another directory, so that a developer's .env has no effect. */
const optionsWith = (environment: Environment) => ({
  cwd: tmpdir(),
  env: { PATH: process.env['PATH'], NODE_ENV: 'production', LOG_FORMAT: 'json', ...environment },
});

/** One process of the service. */
export class Instance {
  readonly name: string;
  readonly port: number;
  readonly metricsPort: number;
  readonly program: Program;
  readonly log: Log;

  private constructor(name: string, port: number, metricsPort: number, environment: Environment, logs?: string) {
    this.name = name;
    this.port = port;
    this.metricsPort = metricsPort;
    const { cwd, env } = optionsWith({ ...environment, PORT: String(port), METRICS_PORT: String(metricsPort) });
    const stdio = ['ignore', 'pipe', 'pipe', 'ipc'] as const;
    this.program = new Program(process.execPath, ['--import', INSIDE, SERVICE], { cwd, env, stdio: [...stdio] });
    const { stdout, stderr } = this.program.child;
    if (!stdout || !stderr) throw new Error('The service has no output.');
    this.log = new Log(stdout, stderr, logs && join(logs, `${name}.log`));
  }

  /** Starts it and waits until it is ready. @param logs - directory for its log */
  static async start(name: string, environment: Environment, logs?: string): Promise<Instance> {
    const instance = new Instance(name, await freePort(), await freePort(), environment, logs);
    await instance.program.becomes(() => instance.isReady());
    return instance;
  }

  /** Asks the port for probes. */
  async isReady(): Promise<boolean> {
    return (await fetch(`http://127.0.0.1:${this.metricsPort}/readyz`, { signal: AbortSignal.timeout(3000) })).ok;
  }

  /** The values of metrics without labels. */
  async metrics(names: readonly string[]): Promise<number[]> {
    const text = await (await fetch(`http://127.0.0.1:${this.metricsPort}/metrics`)).text();
    return names.map((name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]));
  }

  async inside(): Promise<Inside> {
    const { child } = this.program;
    const response = once(child, 'message');
    child.send('inside?');
    const [inside] = (await response) as [Inside];
    return inside;
  }
}

/** Runs a command of the service as an operator does. */
export async function runCommand(args: readonly string[], environment: Environment): Promise<void> {
  await promisify(execFile)(process.execPath, [CLI, ...args], optionsWith(environment));
}
