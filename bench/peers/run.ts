import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { print } from '../report.ts';
import { chartOf } from './chart.ts';
import { createData } from './data.ts';
import { measureAll, type Options } from './measure.ts';
import { compileTextbook, programs } from './programs.ts';
import { printFloors, printSummary } from './report.ts';
import { summarise, type Summary } from './summary.ts';
import { choose, workloads } from './workloads.ts';

const RESULTS = fileURLToPath(new URL('../results/peers.json', import.meta.url));
const CHART = fileURLToPath(new URL('../../docs/performance.svg', import.meta.url));

const options = readOptions();
await compileTextbook();
const data = await createData();
try {
  const summary = summarise(await measureAll(options, data));
  printSummary(summary);
  printFloors(summary);
  // A part of the run, or a short one, does not show how the servers compare.
  if (process.argv.length === 2 && process.env['BENCH_BEFORE'] === undefined) {
    await keep(summary);
    print('\nKept in bench/results/peers.json and docs/performance.svg.');
  }
} finally {
  await data.drop();
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      servers: { type: 'string' },
      workloads: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      slice: { type: 'string', default: '2' },
      'warm-up': { type: 'string', default: '6' },
      starts: { type: 'string', default: '5' },
    },
  });
  const number = (option: 'rounds' | 'slice' | 'warm-up' | 'starts') => {
    if (!/^[1-9]\d*$/.test(values[option])) {
      throw new Error(`--${option} must be a whole number from 1.`);
    }
    return Number(values[option]);
  };
  return {
    programs: choose('servers', programs, values.servers),
    workloads: choose('workloads', workloads, values.workloads),
    rounds: number('rounds'),
    slice: number('slice'),
    warmUp: number('warm-up'),
    starts: number('starts'),
  };
}

async function keep(summary: Summary): Promise<void> {
  const { rounds, slice } = options;
  const run = { node: process.version, processors: cpus().length, rounds, secondsOfEachSlice: slice };
  await writeFile(RESULTS, `${JSON.stringify({ run, ...summary }, rounded, 2)}\n`);
  await writeFile(CHART, chartOf(summary));
}

/** Numbers to three significant digits, or to the unit. */
function rounded(_name: string, value: unknown): unknown {
  if (typeof value !== 'number') {
    return value;
  }
  return value >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}
