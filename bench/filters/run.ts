/**
 * What a refused filter costs: the time it takes to read each of 5,000 hostile ones, beside that of a usual one that is
 * accepted, in one run. Of three attempts the shortest counts: reading waits for nothing, so that what the others took longer
 * is the time of other processes. Exits 1 when a refusal takes 5 ms or more.
 */
import { itemFilter } from '#service/items/item.filter';
import { hostileFilter } from '../../test/support/hostile-filter.ts';
import { Random } from '../../test/support/random.ts';

const FILTERS = 5000;
const LIMIT = 5;
const USUAL = '(name.startsWith("Blue") || name.startsWith("Red")) && !description.contains("bell")';

function isRefused(filter: string): boolean {
  try {
    itemFilter.parse(filter);
    return false;
  } catch {
    return true;
  }
}

/** Milliseconds. */
function timeOf(filter: string): number {
  const attempts = Array.from({ length: 3 }, () => {
    const start = performance.now();
    isRefused(filter);
    return performance.now() - start;
  });
  return Math.min(...attempts);
}

const random = new Random(Number(process.argv[2] ?? 1));
const hostile = Array.from({ length: FILTERS }, () => hostileFilter(random, USUAL)).filter(isRefused);
const usual = hostile.map(() => timeOf(USUAL)).toSorted((a, b) => a - b);
const refused = hostile.map((filter) => ({ filter, time: timeOf(filter) })).toSorted((a, b) => a.time - b.time);
const times = refused.map(({ time }) => time);

const print = (text: string) => process.stdout.write(`${text}\n`);
const at = (values: readonly number[], share: number) => values[Math.floor((values.length - 1) * share)] ?? NaN;
const row = (name: string, values: readonly number[]) =>
  `| ${name} | ${[0.5, 0.99, 1].map((share) => (at(values, share) / at(usual, 0.5)).toFixed(1)).join(' | ')} |`;

print(`${refused.length} of ${FILTERS} hostile filters are refused. Time in ratio to the median of a usual filter:\n`);
print('|  | median | p99 | most |\n| --- | --- | --- | --- |');
print(row('a usual filter, accepted', usual));
print(row('a hostile filter, refused', times));
const worst = refused.at(-1);
print(`\nThe costliest refusal takes ${worst?.time.toFixed(2)} ms: ${JSON.stringify(worst?.filter.slice(0, 80))}`);
const within = at(times, 1) < LIMIT;
print(`${within ? 'within' : 'NOT within'} ${LIMIT} ms each`);
process.exitCode = within ? 0 : 1;
