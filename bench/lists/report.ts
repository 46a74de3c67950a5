import type { Case } from './cases.ts';
import type { IndexCost } from './description-index.ts';
import { print, printTable } from '../print.ts';
import { median, quantile } from '../statistics.ts';
import type { Run } from './measure.ts';

/** How many times the median of the first page a case may take. */
const PROMISES = { deep: 1.2, indexed: 2 };

export function printRuns(runs: readonly Run[]): void {
  const rows = runs.map((run) => [
    run.name,
    run.outcome,
    median(run.times).toFixed(2),
    quantile(run.times, 0.99).toFixed(2),
    ratio(run, runs).toFixed(2),
    String(run.times.length),
  ]);
  printTable(['case', 'rows', 'median ms', 'p99 ms', '× first page', 'requests'], rows);
}

export function printComparisons(comparisons: readonly (Case & { service: number; planned: number })[]): void {
  const rows = comparisons.map(({ name, service, planned }) => [
    name,
    service.toFixed(2),
    planned.toFixed(2),
    (planned / service).toFixed(2),
  ]);
  printTable(['by SQL', 'service, ms', 'planner alone, ms', 'planner ÷ service'], rows);
}

export function printIndexCost({ sizeToTable, sizeToOtherIndexes, inserts }: IndexCost): void {
  printTable(
    ['a trigram index on the description', 'ratio'],
    [
      ['its size ÷ the table', sizeToTable.toFixed(2)],
      ['its size ÷ all other indexes', sizeToOtherIndexes.toFixed(2)],
      ...Object.entries(inserts).map(([way, times]) => [`time of inserts with it ÷ without it, ${way}`, times.toFixed(2)]),
    ],
  );
}

/** @param plans - one for each statement of the case */
export function printPlans({ name, filter = '' }: Case, plans: readonly string[]): void {
  print(`\n### ${name}\n\n\`${shorten(filter)}\``);
  plans.forEach((plan) => {
    print(`\n\`\`\`\n${shorten(plan)}\n\`\`\``);
  });
}

/** Says of every promise whether it was kept. @returns whether all were */
export function printPromises(runs: readonly Run[]): boolean {
  let allKept = true;
  for (const run of runs) {
    if (run.promise) {
      const kept = ratio(run, runs) <= PROMISES[run.promise];
      print(`${kept ? 'within' : 'NOT within'} ${PROMISES[run.promise]} × the first page: ${run.name}`);
      allKept &&= kept;
    }
  }
  return allKept;
}

/** The first of all runs is the first page. */
function ratio({ times }: Run, [firstPage]: readonly Run[]): number {
  return median(times) / median(firstPage?.times ?? []);
}

/** Cuts long lines, which repeat a long filter. */
function shorten(text: string): string {
  return text.replaceAll(/^(.{160}).+$/gm, '$1…');
}
