import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { chartOf } from './chart.ts';
import type { Options } from './options.ts';
import type { Summary } from './summary.ts';

const RESULTS = fileURLToPath(new URL('../results/', import.meta.url));
const CHART = fileURLToPath(new URL('../../docs/performance.svg', import.meta.url));

/** Keeps what was measured: the figures, and a picture of them. */
export async function keepResults(summary: Summary, { rounds, slice }: Options): Promise<void> {
  const run = { node: process.version, processors: cpus().length, rounds, secondsOfEachSlice: slice };
  const json = JSON.stringify(
    { run, ...summary },
    (_name, value: unknown) => (typeof value === 'number' ? rounded(value) : value),
    2,
  );
  await mkdir(RESULTS, { recursive: true });
  await writeFile(`${RESULTS}peers.json`, `${json}\n`);
  await writeFile(CHART, chartOf(summary));
}

/** To three significant digits, or to the unit. */
function rounded(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}
