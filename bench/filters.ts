/**
 * What a refused filter costs: the time to read each of 5,000 hostile filters, in ratio to a usual filter that is accepted. Of three
 * attempts the shortest counts, because reading waits for nothing: the rest is the time of other processes.
 */
import * as fc from 'fast-check';
import { itemFilter } from '#service/items/item.filter';
import { hostileFilters } from '../test/support/hostile-filter.ts';
import { print, printPromise, printTable } from './report.ts';
import { quantile } from './statistics.ts';

const FILTERS = 5000;
/** Milliseconds. */
const LIMIT = 5;
const USUAL = '(name.startsWith("Blue") || name.startsWith("Red")) && !description.contains("bell")';

const seed = Number(process.argv[2] ?? 1);
const filters = hostileFilters(fc.constant(USUAL), ['id', 'name', 'description', 'createdAt']);
const hostile = fc.sample(filters, { numRuns: FILTERS, seed }).filter(isRefused);
const usual = hostile.map(() => timeOf(USUAL));
const refused = hostile.map(timeOf);
const worst = Math.max(...refused);

print(`${hostile.length} of ${FILTERS} hostile filters are refused, the costliest in ${worst.toFixed(2)} ms:`);
print(JSON.stringify(hostile[refused.indexOf(worst)]?.slice(0, 80)));
printTable(
  ['× a usual filter', 'median', 'p99', 'most'],
  [row('a usual filter, accepted', usual), row('a hostile filter, refused', refused)],
);
printPromise(`each is refused within ${LIMIT} ms`, worst < LIMIT);

function isRefused(filter: string): boolean {
  try {
    itemFilter.parse(filter);
    return false;
  } catch {
    return true;
  }
}

function timeOf(filter: string): number {
  const attempts = Array.from({ length: 3 }, () => {
    const start = performance.now();
    isRefused(filter);
    return performance.now() - start;
  });
  return Math.min(...attempts);
}

function row(name: string, times: readonly number[]): string[] {
  return [name, ...[0.5, 0.99, 1].map((share) => (quantile(times, share) / quantile(usual, 0.5)).toFixed(1))];
}
