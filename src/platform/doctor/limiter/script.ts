import { randomUUID } from 'node:crypto';
import type { Configuration } from '../../config/configuration.js';
import { PATIENCE } from '../../throttling/shared-limiter.js';
import { RedisWindow } from '../../throttling/redis-window.js';
import { causesOf } from '../causes-of.js';
import { type Check, failed, type Finding, ok, warning } from '../check.js';
import type { LimiterStore } from './limiter-store.js';

/** Calls that are counted in a window of our own. */
const CALLS = 10;

/** Its length in milliseconds: so soon Redis forgets it by itself, whatever becomes of us. */
const WINDOW = 1000;

/** From this part of the time that a call may wait for Redis, there is little left for a busy moment. */
const NEAR = 0.5;

/** Whether this user can do all that counting takes, and how long that takes. */
export function scriptCheck(store: LimiterStore, { REDIS_KEY_PREFIX }: Configuration): Check {
  return {
    name: 'limiter.script',
    run: async () => {
      const connection = await store.connection();
      const key = `doctor-${randomUUID()}`;
      const window = new RedisWindow(connection, REDIS_KEY_PREFIX, CALLS, WINDOW);
      try {
        const times = await count(window, key);
        return judgeTimes(times);
      } catch (error) {
        return failed(
          `${causesOf(error).join(': ')}. Meanwhile, each process counts for itself`,
          `Let the user do this with keys that begin with the prefix: ACL SETUSER … ~${REDIS_KEY_PREFIX}* ` +
            '+eval +evalsha +time +lindex +llen +ltrim +rpush +rpop +pexpire +set. A replica takes no writes: lead REDIS_URL to its master.',
        );
      } finally {
        await window.forget(key).catch(() => undefined);
      }
    },
  };
}

/** Does all that a limiter does. @returns how long each call took, in milliseconds */
async function count(window: RedisWindow, key: string): Promise<number[]> {
  await window.probe(key);
  const times: number[] = [];
  while (times.length < CALLS) {
    const begun = performance.now();
    await window.hit(key);
    times.push(performance.now() - begun);
  }
  await window.report(key, { stamps: [], ages: [WINDOW] });
  return times;
}

/** @param times - of some calls, in milliseconds */
export function judgeTimes(times: readonly number[]): Finding {
  const sorted = times.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? Infinity;
  const found = `a call takes ${median.toFixed(1)} ms (median of ${times.length}, at most ${(sorted.at(-1) ?? Infinity).toFixed(1)}) of ${PATIENCE}`;
  const mend =
    'Bring Redis nearer: same region, same zone. Look for slow commands (SLOWLOG), and whether this machine is too busy.';
  if (median > PATIENCE) {
    return failed(`${found}: it counts as away, and each process counts for itself`, mend);
  }
  return median > PATIENCE * NEAR ? warning(`${found}: now and then it counts as away`, mend) : ok(found);
}
