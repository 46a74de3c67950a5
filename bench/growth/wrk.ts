import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Service } from '../service.ts';

/** What is asked for, if not the first page, and on how many connections at once, each as soon as it has its answer. */
export interface LoadOptions {
  /** Query string. */
  readonly search?: string;
  readonly connections?: number;
}

/**
 * Has wrk ask for pages for so many seconds.
 *
 * @returns requests that were answered
 * @throws Error when one was answered otherwise than 200
 */
export async function load(
  { port, headers }: Service,
  seconds: number,
  { search = '', connections = 16 }: LoadOptions = {},
): Promise<number> {
  const names = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const url = `http://127.0.0.1:${port}/v1/items?${search}`;
  const { stdout } = await promisify(execFile)('wrk', ['-t1', `-c${connections}`, `-d${seconds}s`, ...names, url]);
  const failed = /Non-2xx.*|Socket errors.*/.exec(stdout);
  if (failed) {
    throw new Error(failed[0]);
  }
  return Number(/(\d+) requests in/.exec(stdout)?.[1]);
}
