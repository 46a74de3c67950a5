import type { Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { reasonOf } from './describe-error.js';

/** Logs a warning that is new, and then once a minute: every request of an outage has the same. The others have the level `debug`. */
export function warnOnceAMinute(logger: Logger): (msg: string, cause: unknown) => void {
  const logged = new LRUCache<string, true>({ max: 100, ttl: 60_000, ttlResolution: 0 });
  return (msg, cause) => {
    const reason = cause === undefined ? undefined : reasonOf(cause);
    const key = `${msg} ${reason}`;
    const isNew = !logged.has(key);
    if (isNew) logged.set(key, true);
    logger[isNew ? 'warn' : 'debug']({ msg, reason });
  };
}
