import { setTimeout as delay } from 'node:timers/promises';

/** Milliseconds between two attempts; the pause doubles. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 5000;

/** Retries until success or an abort. @param onFailure - called with the milliseconds until the next attempt; throws to stop */
export async function retryWithBackoff(
  attempt: () => Promise<void>,
  onFailure: (error: unknown, retryInMs: number) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let pause = FIRST_PAUSE; !signal.aborted; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    try {
      await attempt();
      return;
    } catch (error) {
      onFailure(error, pause);
      await delay(pause, undefined, { signal }).catch(() => undefined);
    }
  }
}
