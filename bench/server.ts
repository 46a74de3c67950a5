import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../test/support/free-port.ts';

export interface Program {
  readonly name: string;
  readonly command: readonly string[];
}

/** A program in a process of its own. */
export interface Server {
  readonly name: string;
  readonly pid: number;
  readonly url: string;
  /** Milliseconds from its start to its first response. */
  readonly startTime: number;
  stop(): Promise<void>;
}

/** The service, with the packages of the project. */
export const SERVICE: Program = { name: 'ours', command: [fileURLToPath(new URL('../dist/main.js', import.meta.url))] };

/** Milliseconds between two scrapes of metrics. */
const SCRAPE_INTERVAL = 5000;

/** A rate limit that no load reaches. */
export const HIGH_LIMIT = { RATE_LIMIT: '1000000', RATE_LIMIT_WINDOW: '60' };

/**
 * Starts a server, and waits until it lists items.
 *
 * @param database - its URL
 * @param token - of the requests before it is ready
 * @param variables - of its environment, its rate limit among them
 */
export async function startServer(
  program: Program,
  database: string,
  token: string,
  variables: Readonly<Record<string, string>> = HIGH_LIMIT,
): Promise<Server> {
  const [port, metricsPort] = [await freePort(), await freePort()];
  const log = await openLog();
  const begun = performance.now();
  const child = spawn(process.execPath, [...program.command], {
    // From another directory, so that a developer's .env has no effect.
    cwd: tmpdir(),
    env: {
      NODE_ENV: 'production',
      DATABASE_URL: database,
      DATABASE_POOL_SIZE: '10',
      PORT: String(port),
      METRICS_PORT: String(metricsPort),
      SHUTDOWN_DELAY: '0',
      ...variables,
    },
    stdio: ['ignore', log.fd, 'inherit'],
  });
  await log.close();
  const url = `http://127.0.0.1:${port}/v1/items`;
  // As by Prometheus. Other servers have no metrics.
  const scrape = () => fetch(`http://127.0.0.1:${metricsPort}/metrics`).then((response) => response.text());
  const scraping = setInterval(() => void scrape().catch(() => undefined), SCRAPE_INTERVAL);
  const stop = async () => {
    clearInterval(scraping);
    if (child.exitCode === null && child.signalCode === null && child.kill('SIGTERM')) {
      await once(child, 'close');
    }
  };
  try {
    await becomesReady(program, child, url, token);
    return { name: program.name, pid: child.pid ?? 0, url, startTime: performance.now() - begun, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A file for the access log, as in an installation. Its space is free again when the server ends. */
async function openLog(): Promise<FileHandle> {
  const directory = await mkdtemp(join(tmpdir(), 'items-bench-'));
  const log = await open(join(directory, 'log'), 'w');
  await rm(directory, { recursive: true });
  return log;
}

async function becomesReady({ name }: Program, child: ChildProcess, url: string, token: string): Promise<void> {
  const headers = { Authorization: `Bearer ${token}` };
  let last = 'none';
  for (const deadline = Date.now() + 20_000; Date.now() < deadline && child.exitCode === null; await delay(2)) {
    const response = await fetch(url, { headers }).catch(() => undefined);
    const text = await response?.text();
    if (response?.ok) {
      return;
    }
    last = text ?? last;
  }
  throw new Error(`The server "${name}" did not become ready. Its last response: ${last}`);
}
