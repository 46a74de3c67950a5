import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { resolve } from 'node:path';
import { Api } from './api.js';
import { eventually } from './eventually.js';
import { testDirectory } from './test-database.js';

/** Any free ports, a limit that is not in the way, and no wait for load balancers. */
export const serverDefaults = { PORT: '0', METRICS_PORT: '0', RATE_LIMIT: '1000000', SHUTDOWN_DELAY: '0' };

const children = new Set<ChildProcess>();

// A test that fails must not leave its processes behind.
afterAll(() => children.forEach((child) => child.kill('SIGKILL')));

export type LogLine = Record<string, unknown> & { msg: string };

/** How a process ended and what it said. */
export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a command of the built command-line interface to its end. @param input - what it reads from its standard input */
export function runCli(args: string[], environment: NodeJS.ProcessEnv, input = ''): Promise<Outcome> {
  const { child, ended } = spawnCli(args, environment);
  child.stdin?.end(input);
  return ended;
}

/** Starts a command of the built command-line interface that need not come to its own end. */
export function spawnCli(args: string[], environment: NodeJS.ProcessEnv) {
  return start('dist/cli.js', args, environment);
}

/** Runs the built service until it ends by itself, for starts that must fail. */
export function runServiceToEnd(environment: NodeJS.ProcessEnv): Promise<Outcome> {
  return start('dist/main.js', [], { ...serverDefaults, ...environment }).ended;
}

/** The built service in a process of its own. */
export class ServiceProcess {
  private constructor(
    readonly child: ChildProcess,
    /** What it said until now. */
    readonly output: { stdout: string; stderr: string },
    private readonly ended: Promise<Outcome>,
  ) {}

  /** Starts it and waits for nothing. @param log - file that gets its standard output */
  static spawn(environment: NodeJS.ProcessEnv, log?: string): ServiceProcess {
    const { child, output, ended } = start('dist/main.js', [], { ...serverDefaults, ...environment }, log);
    return new ServiceProcess(child, output, ended);
  }

  /** Starts it and waits until it listens. */
  static async start(environment: NodeJS.ProcessEnv): Promise<ServiceProcess> {
    const service = ServiceProcess.spawn(environment);
    await eventually(() => {
      if (service.child.exitCode !== null) throw new Error(`The service ended: ${service.output.stderr}`);
      return service.has('Listening on ');
    });
    return service;
  }

  /** Starts it and waits until it can use its database, too. */
  static async startReady(environment: NodeJS.ProcessEnv): Promise<ServiceProcess> {
    const service = await ServiceProcess.start(environment);
    await service.becomesReady();
    return service;
  }

  becomesReady(): Promise<void> {
    return eventually(async () => (await fetch(`${this.origin}/readyz`)).status === 200);
  }

  get log(): LogLine[] {
    return this.linesWith('"msg":');
  }

  has(message: string): boolean {
    return this.linesWith(`"msg":"${message}`).length > 0;
  }

  linesOf(message: string): LogLine[] {
    return this.linesWith(`"msg":${JSON.stringify(message)}`);
  }

  get origin(): string {
    const [, origin] = /Listening on (http:\/\/localhost:\d+)/.exec(this.output.stdout) ?? [];
    return origin?.replace('localhost', '127.0.0.1') ?? '';
  }

  /** A metric of the process, in Prometheus' spelling with its labels: `name{label="value"}`. @returns undefined without it */
  async metric(name: string): Promise<number | undefined> {
    const lines = (await this.metrics()).split('\n');
    const line = lines.find((text) => text.startsWith(`${name} `));
    return line === undefined ? undefined : Number(line.slice(name.length));
  }

  /** All metrics of the process. */
  async metrics(): Promise<string> {
    const [, url = ''] = /"metrics":"([^"]+)/.exec(this.output.stdout) ?? [];
    return (await fetch(url.replace('localhost', '127.0.0.1'))).text();
  }

  client(token: string): Api {
    return new Api(this.origin, token);
  }

  /** Sends a signal and waits for the end. @returns the exit code, null after a deadly signal */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    this.child.kill(signal);
    return (await this.ended).code;
  }

  private linesWith(text: string): LogLine[] {
    const lines = this.output.stdout
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}') && line.includes(text));
    return lines.map((line) => JSON.parse(line) as LogLine);
  }
}

function start(script: string, args: string[], environment: NodeJS.ProcessEnv, log?: string) {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  // The optimising of PostgreSQL's WebAssembly costs a process that lives for seconds more than it gains.
  const child = spawn(process.execPath, ['--wasm-tiering-budget=1000000000', resolve(script), ...args], {
    env: { PATH, NODE_COMPILE_CACHE, LOG_FORMAT: 'json', ...environment },
    // From another directory, so that a developer's .env and ./data stay out of it.
    cwd: testDirectory(),
    stdio: ['pipe', log === undefined ? 'pipe' : openSync(log, 'a'), 'pipe'],
  });
  children.add(child);
  const output = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  const ended = once(child, 'close').then(([code]): Outcome => ({ code: code as number | null, ...output }));
  return { child, output, ended };
}
