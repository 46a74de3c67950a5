import type { Logger } from '@nestjs/common';
import { onceAMinute } from '../time/once-a-minute.js';
import { reasonOf } from './describe-error.js';

/** Logs a warning that is new, and then once a minute: every request of an outage has the same. The others have the level `debug`. */
export function warnOnceAMinute(logger: Logger): (msg: string, cause: unknown) => void {
  const isNew = onceAMinute(100);
  return (msg, cause) => {
    const reason = cause === undefined ? undefined : reasonOf(cause);
    logger[isNew(`${msg} ${reason}`) ? 'warn' : 'debug']({ msg, reason });
  };
}
