import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage, type RequestOptions } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

// From another directory, so that a developer's .env stays out of it.
const cwd = tmpdir();

export interface Answer {
  readonly milliseconds: number;
  readonly status: number | undefined;
  readonly body: { readonly items?: readonly unknown[]; readonly errors?: readonly { readonly detail: string }[] };
}

/** The built service in a process of its own. */
export interface Service {
  /** @param search - query string of the list of items */
  list(search: string): Promise<Answer>;
  stop(): Promise<void>;
}

/** Applies the migrations of the built service to a database. */
export async function migrate(url: string): Promise<void> {
  await cli(url, 'migrate');
}

/** Starts the service on a database that has its migrations. */
export async function startService(url: string): Promise<Service> {
  const token = (await cli(url, 'token', 'issue', '--name', 'bench')).trim();
  const port = await freePort();
  const child = spawn(process.execPath, [built('main.js')], {
    cwd,
    env: { ...environment(url), PORT: String(port), RATE_LIMIT: '1000000' },
    stdio: 'inherit',
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
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
  return { list: (search) => request({ agent, port, headers, path: `/v1/items?${search}` }), stop };
}

/** One request, timed from before it is sent until its answer is read and parsed. */
async function request(options: RequestOptions): Promise<Answer> {
  const start = performance.now();
  const [response] = (await once(get({ host: '127.0.0.1', ...options }), 'response')) as [IncomingMessage];
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
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
  return fileURLToPath(new URL(`../../dist/${file}`, import.meta.url));
}
