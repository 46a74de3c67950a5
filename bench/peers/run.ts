import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createData } from './data.ts';
import { measureAll, type Options } from './measure.ts';
import { compileTextbook, installServers, programsIn } from './programs.ts';
import { printFloors, printSummary } from './report.ts';
import { summarize } from './summary.ts';
import { choose, measured } from './workloads.ts';

await using installed = await mkdtempDisposable(join(tmpdir(), 'items-bench-'));
const options = readOptions();
await compileTextbook();
await installServers(installed.path);
const data = await createData();
try {
  const summary = summarize(await measureAll(options, data));
  printSummary(summary);
  printFloors(summary);
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
    programs: choose('servers', programsIn(installed.path), values.servers),
    workloads: choose('workloads', measured, values.workloads),
    rounds: number('rounds'),
    slice: number('slice'),
    warmUp: number('warm-up'),
    starts: number('starts'),
  };
}
