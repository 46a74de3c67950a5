import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CONNECTIONS, THREADS } from './settings.ts';

/** Requests that are all alike but for their tokens. */
export interface Load {
  readonly url: string;
  readonly method: string;
  readonly body: string | undefined;
  /** File with one token a line. */
  readonly tokens: string;
}

/** What came of a load; times in microseconds. */
export interface Outcome {
  readonly requests: number;
  readonly microseconds: number;
  readonly p50: number;
  readonly p99: number;
  /** Answers with a status of 400 and more. */
  readonly refused: number;
  /** Requests without an answer. */
  readonly broken: number;
}

const SCRIPT = fileURLToPath(new URL('wrk.lua', import.meta.url));
const run = promisify(execFile);

/** Sends as many requests as get answers, over connections that stay open, for so many seconds. */
export async function sendLoad({ url, method, body, tokens }: Load, seconds: number): Promise<Outcome> {
  const { stdout } = await run(
    'wrk',
    ['-t', String(THREADS), '-c', String(CONNECTIONS), '-d', `${seconds}s`, '-s', SCRIPT, url],
    {
      env: { ...process.env, BENCH_METHOD: method, BENCH_TOKENS: tokens, ...(body !== undefined && { BENCH_BODY: body }) },
    },
  );
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Outcome;
}

/** @throws Error that says how to install it */
export async function checkWrk(): Promise<void> {
  await run('wrk', ['--version']).catch((error: NodeJS.ErrnoException) => {
    // It prints its version and exits with 1.
    if (error.code === 'ENOENT') {
      throw new Error(
        'The load comes from wrk, which is not there: install it, as with apt-get install wrk or brew install wrk.',
      );
    }
  });
}
