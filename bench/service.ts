import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request as send, type RequestOptions } from 'node:http';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '../test/support/free-port.ts';

// From another directory, so that a developer's .env stays out of it.
const cwd = tmpdir();

export interface Answer {
  readonly milliseconds: number;
  readonly status: number | undefined;
  readonly body: { readonly items?: readonly unknown[]; readonly errors?: readonly { readonly detail: string }[] };
}

/** The built service in a process of its own. */
export interface Service {
  readonly pid: number | undefined;
  readonly port: number;
  /** With which requests are let in. */
  readonly headers: Readonly<Record<string, string>>;
  /** @param search - query string of the list of items */
  list(search: string): Promise<Answer>;
  /** Creates an item. */
  create(headers?: Record<string, string>): Promise<Answer>;
  /** The metrics, in Prometheus' text format. */
  metrics(): Promise<string>;
  stop(): Promise<void>;
}

/** Applies the migrations of the built service to a database. */
export async function migrate(url: string): Promise<void> {
  await cli(url, 'migrate');
}

/**
 * Starts the service on a database that has its migrations.
 *
 * @param variables - of its environment, on top of a limit that is not in the way
 * @param connections - that its client opens at most
 */
export async function startService(url: string, variables: NodeJS.ProcessEnv = {}, connections = 1): Promise<Service> {
  const token = (await cli(url, 'token', 'issue', '--name', 'bench')).trim();
  const [port, metricsPort] = [await freePort(), await freePort()];
  const child = spawn(process.execPath, [built('main.js')], {
    cwd,
    env: {
      ...environment(url),
      PORT: String(port),
      METRICS_PORT: String(metricsPort),
      RATE_LIMIT: '1000000',
      SHUTDOWN_DELAY: '0',
      ...variables,
    },
    stdio: 'inherit',
  });
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const headers = { Authorization: `Bearer ${token}` };
  const stop = async () => {
    agent.destroy();
    if (child.exitCode === null && child.kill('SIGTERM')) {
      await once(child, 'close');
    }
  };
  try {
    await becomesReady(child, port);
  } catch (error) {
    await stop();
    throw error;
  }
  const options = { agent, port, headers, path: '/v1/items' };
  return {
    pid: child.pid,
    port,
    headers,
    list: (search) => request({ ...options, path: `${options.path}?${search}` }),
    create: (more) =>
      request({ ...options, method: 'POST', headers: { ...headers, 'Content-Type': 'application/json', ...more } }, ITEM),
    metrics: async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text(),
    stop,
  };
}

const ITEM = JSON.stringify({ name: 'Blue bicycle', description: 'Seven gears, one bell.' });

/** One request, timed from before it is sent until its answer is read and parsed. */
async function request(options: RequestOptions, sent?: string): Promise<Answer> {
  const start = performance.now();
  const outgoing = send({ host: '127.0.0.1', ...options }).end(sent);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  const chunks = (await response.toArray()) as Buffer[];
  const body = JSON.parse(Buffer.concat(chunks).toString()) as Answer['body'];
  return { milliseconds: performance.now() - start, status: response.statusCode, body };
}

async function becomesReady(child: ChildProcess, port: number): Promise<void> {
  for (const deadline = Date.now() + 20_000; Date.now() < deadline && child.exitCode === null; await delay(50)) {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    if (response?.ok) {
      return;
    }
  }
  throw new Error('The service did not become ready.');
}

async function cli(url: string, ...parameters: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [built('cli.js'), ...parameters], {
    cwd,
    env: environment(url),
  });
  return stdout;
}

function environment(url: string): NodeJS.ProcessEnv {
  const { PATH } = process.env;
  return { PATH, DATABASE_URL: url, LOG_LEVEL: 'error' };
}

function built(file: string): string {
  return fileURLToPath(new URL(`../dist/${file}`, import.meta.url));
}
