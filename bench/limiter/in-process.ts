import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { printTable } from '../print.ts';
import type { Measured } from './contender.ts';

const TOKENS = 100_000;
/** Where each call leaves a promise and an object behind. */
const TOKENS_BESIDE_REDIS = 10_000;

/** Name, order of the keys, how many keys. */
const RUNS = [
  ['our window', 'in turn', TOKENS],
  ['our window', 'at random', TOKENS],
  ['our window as storage of the guard', 'in turn', TOKENS],
  ['stock storage of the guard', 'in turn', TOKENS],
  ['stock storage of the guard', 'at random', TOKENS],
  ['beside Redis that answers at once', 'in turn', TOKENS_BESIDE_REDIS],
] as const;

/** Microseconds of a check; bytes for a token, at 100 calls each and after they are long past. */
const PROMISES = { check: 0.2, bytes: 700, afterSilence: 20 };

/** What a check costs, and what a token, in this process, beside the stock storage. @returns the promises, each with whether it was kept */
export async function measureInProcess(): Promise<Record<string, boolean>> {
  const results: Measured[] = [];
  for (const [name, order, tokens] of RUNS) {
    results.push(await measureApart(name, order, tokens));
  }
  const stock = results[RUNS.findIndex(([name]) => name.startsWith('stock'))];
  const rows = results.map(({ check, refusal, bytes, afterSilence }, index) => [
    (RUNS[index] ?? []).join(', '),
    check.toFixed(2),
    refusal.toFixed(2),
    bytes.toFixed(0),
    afterSilence?.toFixed(0) ?? '',
    (check / (stock?.check ?? NaN)).toFixed(2),
    (bytes / (stock?.bytes ?? NaN)).toFixed(2),
  ]);
  printTable(
    ['100 calls of each token', 'check µs', 'refusal µs', 'bytes', 'bytes after silence', 'check × stock', 'bytes × stock'],
    rows,
  );
  const [ours] = results;
  return {
    [`a check takes at most ${PROMISES.check} µs`]: (ours?.check ?? NaN) <= PROMISES.check,
    [`a token takes at most ${PROMISES.bytes} bytes`]: (ours?.bytes ?? NaN) <= PROMISES.bytes,
    [`at most ${PROMISES.afterSilence} of them stay once it is silent`]: (ours?.afterSilence ?? NaN) <= PROMISES.afterSilence,
  };
}

async function measureApart(name: string, order: string, keys: number): Promise<Measured> {
  const program = fileURLToPath(new URL('contender.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program, name, String(keys), order]);
  return JSON.parse(stdout) as Measured;
}
