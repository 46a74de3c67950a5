import { printTable } from '../print.ts';
import type { SelfTime } from './self-times.ts';

/** Prints how the time in which the service was at work is shared among its layers. */
export function printLayers(times: readonly SelfTime[], requests: number): void {
  printShares('layer', sums(times, 'layer'), requests);
}

/** @param count - functions to print, those with the most time of their own */
export function printFunctions(times: readonly SelfTime[], requests: number, count: number): void {
  if (count > 0) {
    printShares('function', sums(times, 'name'), requests, count);
  }
}

function printShares(what: string, all: readonly (readonly [string, number])[], requests: number, count = all.length): void {
  const total = all.reduce((sum, [, time]) => sum + time, 0);
  const rows = [...all.slice(0, count), ...(count === all.length ? [['all', total] as const] : [])];
  printTable(
    [what, 'share of self time', 'µs of a request'],
    rows.map(([name, time]) => [name, `${((time / total) * 100).toFixed(1)} %`, (time / requests).toFixed(1)]),
  );
}

/** Longest first. */
function sums(times: readonly SelfTime[], by: 'layer' | 'name'): [string, number][] {
  const totals = new Map<string, number>();
  for (const time of times) {
    totals.set(time[by], (totals.get(time[by]) ?? 0) + time.microseconds);
  }
  return [...totals].toSorted(([, a], [, b]) => b - a);
}
