import { setTimeout as delay } from 'node:timers/promises';

/** Waits for a condition, for at most so many seconds. */
export async function eventually(isSo: () => Promise<boolean> | boolean, patience = 60): Promise<void> {
  for (const deadline = Date.now() + patience * 1000; Date.now() < deadline; await delay(20)) {
    if (await isSo()) {
      return;
    }
  }
  throw new Error(`Not so after ${patience} seconds: ${isSo.toString()}`);
}
