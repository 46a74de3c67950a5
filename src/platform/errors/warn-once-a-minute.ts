import type { Logger } from '@nestjs/common';
import { onceAMinute } from '../time/once-a-minute.js';
import { reasonOf } from './describe-error.js';

/** Maximum characters of a reason, in which PostgreSQL quotes values of clients. */
const MAXIMUM_REASON = 256;

/** Logs a warning at most once a minute, and repetitions as `debug`: in an outage, every request has the same one. */
export function warnOnceAMinute(logger: Logger): (msg: string, cause: unknown) => void {
  const isNew = onceAMinute(100);
  return (msg, cause) => {
    const reason = cause === undefined ? undefined : reasonOf(cause).slice(0, MAXIMUM_REASON);
    // Compares only what precedes the first quotation mark: quoted values may differ each time.
    const key = `${msg} ${reason?.split('"', 1).join()}`;
    logger[isNew(key) ? 'warn' : 'debug']({ msg, reason });
  };
}
