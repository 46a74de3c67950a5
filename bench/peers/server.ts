import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../test/support/free-port.ts';
import type { Kind } from './kinds.ts';
import { POOL_SIZE } from './settings.ts';

/** A server in a process of its own. */
export interface Server {
  readonly kind: Kind;
  readonly pid: number;
  /** Of its items. */
  readonly url: string;
  /** Milliseconds from its start until it had answered its first request. */
  readonly startTime: number;
  stop(): Promise<void>;
}

/**
 * Starts a server, and waits until it has answered.
 *
 * @param token - of the first request
 * @param limits - its rate limit
 */
export async function startServer(kind: Kind, database: string, token: string, limits: NodeJS.ProcessEnv): Promise<Server> {
  const port = await freePort();
  const begun = performance.now();
  const child = spawn(process.execPath, [...kind.command], {
    // From another directory, so that a developer's .env stays out of it.
    cwd: tmpdir(),
    env: {
      NODE_ENV: 'production',
      DATABASE_URL: database,
      DATABASE_POOL_SIZE: String(POOL_SIZE),
      PORT: String(port),
      METRICS_PORT: '0',
      SHUTDOWN_DELAY: '0',
      LOG_LEVEL: 'error',
      ...limits,
      ...kind.variables,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const url = `http://127.0.0.1:${port}/v1/items`;
  const stop = () => end(child);
  try {
    await becomesReady(kind, child, url, token);
    return { kind, pid: child.pid ?? 0, url, startTime: performance.now() - begun, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function becomesReady({ name }: Kind, child: ChildProcess, url: string, token: string): Promise<void> {
  const headers = { Authorization: `Bearer ${token}` };
  let last = 'nothing';
  for (const deadline = Date.now() + 20_000; Date.now() < deadline && child.exitCode === null; await delay(2)) {
    const response = await fetch(url, { headers }).catch(() => undefined);
    const text = await response?.text();
    if (response?.ok) {
      return;
    }
    last = text ?? last;
  }
  throw new Error(`The server "${name}" did not become ready. Its last answer: ${last}`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null && child.kill('SIGTERM')) {
    await once(child, 'close');
  }
}
