import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { checked, type Load, type Outcome } from './load.ts';

const SCRIPT = fileURLToPath(new URL('wrk.lua', import.meta.url));

/** Sends requests for so many seconds over connections that stay open, each as soon as the response before it has come. */
export async function sendLoad({ url, requests, connections = 32 }: Load, seconds: number): Promise<Outcome> {
  const directory = await mkdtemp(join(tmpdir(), 'items-bench-'));
  try {
    const file = join(directory, 'requests');
    await writeFile(file, requests.join('\0'));
    const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', SCRIPT, url];
    const { stdout } = await promisify(execFile)('wrk', options, { env: { ...process.env, BENCH_REQUESTS: file } });
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Outcome;
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw isMissing ? new Error('wrk is missing, which sends the load: apt-get install wrk, or brew install wrk.') : error;
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** @throws Error when responses were not of the kind that the load is about */
export async function sendCheckedLoad(load: Load, seconds: number): Promise<Outcome> {
  return checked(load, await sendLoad(load, seconds));
}
