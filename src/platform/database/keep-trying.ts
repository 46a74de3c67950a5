import { setTimeout as delay } from 'node:timers/promises';

/** First and longest pause between two attempts, in milliseconds. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 5000;

/**
 * Attempts something until it succeeds.
 *
 * @param onFailure - called with the error of an attempt, and the milliseconds until the next one; throws to end the attempts
 * @param signal - ends the attempts
 */
export async function keepTrying(
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
