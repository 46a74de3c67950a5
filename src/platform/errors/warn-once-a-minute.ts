import type { Logger } from '@nestjs/common';
import { onceAMinute } from '../time/once-a-minute.js';
import { reasonOf } from './describe-error.js';

/** Maximum characters of a reason, in which PostgreSQL quotes values of clients. */
const MAXIMUM_REASON = 256;

/** Logs a warning when it is new and once a minute, otherwise as `debug`: every request of an outage has the same. */
export function warnOnceAMinute(logger: Logger): (msg: string, cause: unknown) => void {
  const isNew = onceAMinute(100);
  return (msg, cause) => {
    const reason = cause === undefined ? undefined : reasonOf(cause).slice(0, MAXIMUM_REASON);
    // Without what is quoted, which may differ each time.
    const key = `${msg} ${reason?.split('"', 1).join()}`;
    logger[isNew(key) ? 'warn' : 'debug']({ msg, reason });
  };
}
