import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Requests that differ only in their tokens, which take turns, and in their keys. */
export interface Load {
  readonly url: string;
  readonly tokens: readonly string[];
  readonly method?: 'POST' | undefined;
  readonly body?: string | undefined;
  /** Whether each request has an `Idempotency-Key` of its own. */
  readonly isKeyed?: boolean;
  /** Whether every response must be an error, rather than none. */
  readonly isRefused?: boolean;
  readonly connections?: number;
}

/** The outcome of a load; times in microseconds. */
export interface Outcome {
  readonly requests: number;
  readonly microseconds: number;
  readonly p50: number;
  readonly p99: number;
  /** Responses with a status of 400 and more. */
  readonly refused: number;
  readonly broken: number;
}

const SCRIPT = fileURLToPath(new URL('wrk.lua', import.meta.url));

/** Sends requests for so many seconds over connections that stay open, each as soon as the response before it has come. */
export async function sendLoad(load: Load, seconds: number): Promise<Outcome> {
  const { url, tokens, method = 'GET', body, isKeyed, connections = 32 } = load;
  const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', SCRIPT, url, '--', ...tokens];
  const { stdout } = await promisify(execFile)('wrk', options, {
    env: {
      ...process.env,
      BENCH_METHOD: method,
      ...(body !== undefined && { BENCH_BODY: body }),
      ...(isKeyed && { BENCH_KEYS: randomUUID() }),
    },
  }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT'
      ? new Error('wrk is missing, which sends the load: apt-get install wrk, or brew install wrk.')
      : error;
  });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Outcome;
}

/** @throws Error when a response was not of the kind that the load is about */
export async function sendCheckedLoad(load: Load, seconds: number): Promise<Outcome> {
  const outcome = await sendLoad(load, seconds);
  const { requests, refused, broken } = outcome;
  if (requests === 0 || broken > 0 || refused !== (load.isRefused ? requests : 0)) {
    throw new Error(`${load.url}: ${requests} requests, ${refused} with a status of 400 or more, ${broken} without a response.`);
  }
  return outcome;
}
