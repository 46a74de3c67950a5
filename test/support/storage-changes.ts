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

/** Calls that the processes admitted without Redis until now. */
export function admittedAlone(processes: readonly ServiceProcess[]): Promise<number> {
  return sumOf(processes, 'items_rate_limit_decisions_total{decision="admitted",storage="process"}');
}

/**
 * Calls that slow responses of Redis made the processes decide. A process that was away also refuses calls beyond its part, as it
 * should, so that only those that it admitted count.
 */
async function decidedAlone(processes: readonly ServiceProcess[]): Promise<number> {
  const wasAway = storageChanges(processes).some(({ away }) => away > 0);
  const refused = 'items_rate_limit_decisions_total{decision="refused",storage="process"}';
  return (await admittedAlone(processes)) + (wasAway ? 0 : await sumOf(processes, refused));
}

async function sumOf(processes: readonly ServiceProcess[], metric: string): Promise<number> {
  const values = await Promise.all(processes.map((process) => process.metric(metric)));
  return values.reduce<number>((sum, value = 0) => sum + value, 0);
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
    const state = async () => JSON.stringify([storageChanges(processes), await decidedAlone(processes)]);
    const before = await state();
    const result = await attempt();
    if ((await state()) === before) {
      return result;
    }
  }
  throw new Error(`Each time, some process lost Redis: ${JSON.stringify(storageChanges(processes))}`);
}
