import type { ServiceProcess } from './process.js';
import { eventually } from './service.js';

export const AWAY = 'rate limit storage away';
export const BACK = 'rate limit storage back';

/** How often each process has said that it counts alone, and that it does not any more. */
export type StorageChanges = { away: number; back: number }[];

export function storageChanges(processes: readonly ServiceProcess[]): StorageChanges {
  return processes.map((process) => ({ away: process.linesOf(AWAY).length, back: process.linesOf(BACK).length }));
}

/** Waits until every process counts with the others. */
export function areShared(processes: readonly ServiceProcess[]): Promise<void> {
  return eventually(() => storageChanges(processes).every(({ away, back }) => away === back));
}

/** Calls that the processes decided without Redis until now. */
export async function decidedAlone(processes: readonly ServiceProcess[], decision = '[a-z]+'): Promise<number> {
  const pattern = new RegExp(`^items_rate_limit_decisions_total{decision="${decision}",storage="process"} (\\d+)$`, 'gm');
  const pages = await Promise.all(processes.map((process) => process.metrics()));
  return pages.flatMap((page) => [...page.matchAll(pattern)]).reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Attempts before it is not the machine that is too busy. */
const ATTEMPTS = 5;

/**
 * Does something while Redis decides every call. On a machine that is busy with other tests, Redis can be slower for a moment than a
 * process waits for it; then it is done once more.
 *
 * @param attempt - with what was not used before
 */
export async function whileShared<T>(processes: readonly ServiceProcess[], attempt: () => Promise<T>): Promise<T> {
  for (let number = 0; number < ATTEMPTS; number += 1) {
    await areShared(processes);
    const before = await decidedAlone(processes);
    const result = await attempt();
    if ((await decidedAlone(processes)) === before) {
      return result;
    }
  }
  throw new Error(`Each time, some process lost Redis: ${JSON.stringify(storageChanges(processes))}`);
}
