import { print, printTable } from '../../bench/report.ts';
import type { FaultWindows } from './fault-windows.ts';
import { type Comparison, textOf } from './footprint.ts';
import type { Tally } from './tally.ts';

export function printOutcomes(tally: Tally, windows: FaultWindows): void {
  const rows = tally.rows(windows).map(({ kind, outcomes, p50, p99 }) => {
    return [kind, outcomes, p50.toFixed(1), p99.toFixed(1)];
  });
  printTable(['Request', 'Outcomes', 'p50 ms', 'p99 ms'], rows);
  const excused = tally.excused(windows);
  const faults = windows.lengths.map(([name, seconds]) => [name, seconds.toFixed(1), excused.get(name) ?? 'none']);
  printTable(['Announced fault', 'seconds', 'requests that failed'], faults);
}

/** Faults that are shown of those that begin alike. */
const SHOWN = 3;

export function printFootprints(footprints: readonly Comparison[]): void {
  const rows = footprints.flatMap(([name, before, after]) => [
    [`${name}, warmed up`, ...textOf(before)],
    [`${name}, at the end`, ...textOf(after)],
  ]);
  printTable(['Instance', 'resident MB', 'heap MB', 'descriptors', 'resources'], rows);
}

/** @param faults - by what they are about @returns the exit code */
export function printFaults(faults: Readonly<Record<string, readonly string[]>>): number {
  const sections = Object.entries(faults).filter(([, lines]) => lines.length > 0);
  print(sections.length === 0 ? 'Nothing is wrong.' : 'This is wrong:');
  for (const [about, lines] of sections) {
    print(`\n${about}: ${lines.length}`);
    for (const alike of Map.groupBy(lines, beginningOf).values()) {
      for (const line of alike.slice(0, SHOWN)) print(`- ${line}`);
      if (alike.length > SHOWN) print(`- and ${alike.length - SHOWN} like these`);
    }
  }
  return sections.length === 0 ? 0 : 1;
}

function beginningOf(fault: string): string {
  return fault.split(' ').slice(0, 3).join(' ');
}
