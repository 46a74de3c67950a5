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

/** How many processes went away more often than they were made to: each may then have admitted its part on top. */
export function cutOff(before: StorageChanges, after: StorageChanges, expected: number): number {
  return after.filter(({ away }, place) => away > (before[place]?.away ?? 0) + expected).length;
}

/** Attempts before it is not the machine that is too busy. */
const ATTEMPTS = 5;

/**
 * Does something while all processes count together from its begin to its end. On a machine that is busy with other tests,
 * Redis can be slower for a moment than a process waits for it; then it is done once more.
 *
 * @param attempt - with what was not used before
 */
export async function whileShared<T>(processes: readonly ServiceProcess[], attempt: () => Promise<T>): Promise<T> {
  for (let number = 0; number < ATTEMPTS; number += 1) {
    await areShared(processes);
    const before = storageChanges(processes);
    const result = await attempt();
    if (cutOff(before, storageChanges(processes), 0) === 0) {
      return result;
    }
  }
  throw new Error(`Each time, some process lost Redis: ${JSON.stringify(storageChanges(processes))}`);
}
