import { print } from '../print.ts';
import { compileTextbook } from './compile.ts';
import { createData } from './data.ts';
import { readOptions } from './options.ts';
import { printSummary } from './report.ts';
import { keepResults } from './results.ts';
import { measureAll } from './rounds.ts';
import { summarise } from './summary.ts';
import { printTargets } from './targets.ts';
import { checkWrk } from './wrk.ts';

const options = readOptions();
await checkWrk();
await compileTextbook();
const data = await createData();
try {
  const summary = summarise(await measureAll(options, data));
  printSummary(summary);
  printTargets(summary);
  // A part of all would not show how the servers compare.
  if (options.isComplete) {
    await keepResults(summary, options);
    print('\nKept in bench/results/peers.json and docs/performance.svg.');
  }
} finally {
  await data.drop();
}
