import { setTimeout as delay } from 'node:timers/promises';

/** Seconds, for machines that are busy with other work; fewer where the code is broken on purpose. */
export const PATIENCE = Number(process.env['TEST_PATIENCE'] ?? 120);

/** Waits for a condition, for at most so many seconds. */
export async function eventually(isSo: () => Promise<boolean> | boolean, maxWait = PATIENCE): Promise<void> {
  for (const deadline = Date.now() + maxWait * 1000; Date.now() < deadline; await delay(20)) {
    if (await isSo()) {
      return;
    }
  }
  throw new Error(`Not so after ${maxWait} seconds: ${isSo.toString()}`);
}
