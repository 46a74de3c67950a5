import { openSync } from 'node:fs';
import { resolve } from 'node:path';
import { Api } from './api.js';
import { Child, type Outcome } from './child.js';
import { testDirectory } from './test-database.js';

/** Any free ports, limits that are not in the way, and no wait for load balancers. */
export const serverDefaults = {
  PORT: '0',
  METRICS_PORT: '0',
  RATE_LIMIT: '1000000',
  FILTER_BUDGET: '3600',
  SHUTDOWN_DELAY: '0',
  // Of a busy machine.
  MAX_EVENT_LOOP_DELAY: '60',
};

export type { Outcome };
export type LogLine = Record<string, unknown> & { msg: string };

/** Runs a command of the built command-line interface to its end. @param input - what it reads from its standard input */
export function runCli(args: string[], environment: NodeJS.ProcessEnv, input = ''): Promise<Outcome> {
  const { child, ended } = new Built('dist/cli.js', args, environment);
  child.stdin?.end(input);
  return ended;
}

/** Starts a command of the built command-line interface that need not come to its own end. */
export function spawnCli(args: string[], environment: NodeJS.ProcessEnv, under?: readonly string[]): Child {
  return new Built('dist/cli.js', args, environment, { under });
}

/** Runs the built service until it ends by itself, for starts that must fail. */
export function runServiceToEnd(environment: NodeJS.ProcessEnv): Promise<Outcome> {
  return ServiceProcess.spawn(environment).ended;
}

interface BuiltOptions {
  /** File that gets its standard output. */
  readonly log?: string | undefined;
  /** Command that runs it, such as `nice` with its options. */
  readonly under?: readonly string[] | undefined;
}

/** A file of the build in a process of its own. */
class Built extends Child {
  constructor(script: string, args: string[], environment: NodeJS.ProcessEnv, options: BuiltOptions = {}) {
    const { log, under = [] } = options;
    const { PATH, TEST_COMPILE_CACHE: NODE_COMPILE_CACHE } = process.env;
    // The optimization of PostgreSQL's WebAssembly, and V8's threads, cost a process that lives for seconds more than they gain.
    const [program = '', ...rest] = [
      ...under,
      process.execPath,
      '--liftoff-only',
      '--single-threaded',
      resolve(script),
      ...args,
    ];
    super(program, rest, {
      env: { PATH, NODE_COMPILE_CACHE, LOG_FORMAT: 'json', ...environment },
      // A developer's .env and ./data stay out of it.
      cwd: testDirectory(),
      stdio: ['pipe', log === undefined ? 'pipe' : openSync(log, 'a'), 'pipe'],
    });
  }
}

export class ServiceProcess extends Built {
  /** Starts it and waits for nothing. @param log - file that gets its standard output */
  static spawn(environment: NodeJS.ProcessEnv, log?: string, under?: readonly string[]): ServiceProcess {
    return new ServiceProcess('dist/main.js', [], { ...serverDefaults, ...environment }, { log, under });
  }

  /** Starts it and waits until it listens. */
  static async start(environment: NodeJS.ProcessEnv): Promise<ServiceProcess> {
    const service = ServiceProcess.spawn(environment);
    await service.becomes(() => service.has('Listening on '));
    return service;
  }

  /** Starts it and waits until it can use its database, too. */
  static async startReady(environment: NodeJS.ProcessEnv): Promise<ServiceProcess> {
    const service = await ServiceProcess.start(environment);
    await service.becomesReady();
    return service;
  }

  becomesReady(): Promise<void> {
    return this.becomes(async () => (await fetch(`${this.origin}/readyz`)).status === 200);
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
    return (await fetch(`${this.metricsOrigin}/metrics`)).text();
  }

  get metricsOrigin(): string {
    const [, origin] = /"metrics":"(http:\/\/localhost:\d+)/.exec(this.output.stdout) ?? [];
    return origin?.replace('localhost', '127.0.0.1') ?? '';
  }

  client(token: string): Api {
    return new Api(this.origin, token);
  }

  private linesWith(text: string): LogLine[] {
    const lines = this.output.stdout
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}') && line.includes(text));
    return lines.map((line) => JSON.parse(line) as LogLine);
  }
}
