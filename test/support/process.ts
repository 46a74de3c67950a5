import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { Api } from './api.js';
import { eventually } from './service.js';
import { testDirectory } from './test-database.js';

const children = new Set<ChildProcess>();

// A test that fails must not leave its processes behind.
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

export type LogLine = Record<string, unknown> & { msg: string };

/** How a process ended and what it said. */
export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a command of the built command-line interface to its end. */
export function runCli(args: string[], environment: NodeJS.ProcessEnv): Promise<Outcome> {
  return runToEnd('dist/cli.js', args, environment);
}

/** Runs the built service until it ends by itself, for starts that must fail. */
export function runServiceToEnd(environment: NodeJS.ProcessEnv): Promise<Outcome> {
  return runToEnd('dist/main.js', [], { PORT: '0', ...environment });
}

/** The built service in a process of its own. */
export class ServiceProcess {
  private constructor(
    readonly child: ChildProcess,
    private readonly output: { stdout: string; stderr: string },
  ) {}

  /** Starts it and waits for nothing. */
  static spawn(environment: NodeJS.ProcessEnv): ServiceProcess {
    const { child, output } = start('dist/main.js', [], { PORT: '0', RATE_LIMIT: '1000000', ...environment });
    return new ServiceProcess(child, output);
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
    return this.output.stdout
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'))
      .map((line) => JSON.parse(line) as LogLine);
  }

  has(message: string): boolean {
    return this.log.some(({ msg }) => msg.startsWith(message));
  }

  get origin(): string {
    const [, origin] = /Listening on (http:\/\/localhost:\d+)/.exec(this.output.stdout) ?? [];
    return origin?.replace('localhost', '127.0.0.1') ?? '';
  }

  client(token: string): Api {
    return new Api(this.origin, token);
  }

  /** Sends a signal and waits for the end. @returns the exit code, null after a deadly signal */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const closed = once(this.child, 'close') as Promise<[number | null]>;
    this.child.kill(signal);
    const [code] = await closed;
    return code;
  }
}

async function runToEnd(script: string, args: string[], environment: NodeJS.ProcessEnv): Promise<Outcome> {
  const { child, output } = start(script, args, environment);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...output };
}

function start(script: string, args: string[], environment: NodeJS.ProcessEnv) {
  const { PATH } = process.env;
  const env = { PATH, LOG_FORMAT: 'json', ...environment };
  // From another directory, so that a developer's .env and ./data stay out of it.
  const child = spawn(process.execPath, [resolve(script), ...args], { env, cwd: testDirectory() });
  children.add(child);
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  return { child, output };
}
