import { type Configuration, CUT_OFF } from '../../config/configuration.js';
import { type Check, type Finding, ok, warning } from '../check.js';

/** How long nginx and the load balancers of AWS keep a connection without a request by default, in seconds. */
const LOAD_BALANCER = 60;

/** How long clients/typescript goes on repeating a request, in seconds. */
const REPEATS = 90;

/** Whether the configured times suit each other. */
export function timeOutChecks(configuration: Configuration): Check[] {
  return [
    { name: 'time-outs.filter', run: () => filterTime(configuration) },
    { name: 'time-outs.shutdown', run: () => shutdownTime(configuration) },
    { name: 'time-outs.keep-alive', run: () => keepAliveTime(configuration) },
    { name: 'time-outs.idempotency', run: () => idempotencyTime(configuration) },
  ];
}

/** A filter that takes too long is the client's to mend (400), and any other statement that does so is ours (503). */
function filterTime({ FILTER_TIMEOUT, DATABASE_STATEMENT_TIMEOUT }: Configuration): Finding {
  const found = `FILTER_TIMEOUT ${FILTER_TIMEOUT} s, DATABASE_STATEMENT_TIMEOUT ${DATABASE_STATEMENT_TIMEOUT} s`;
  return FILTER_TIMEOUT <= DATABASE_STATEMENT_TIMEOUT
    ? ok(found)
    : warning(
        `${found}: filters may keep the database busy for longer than anything else`,
        'Set FILTER_TIMEOUT to DATABASE_STATEMENT_TIMEOUT at most.',
      );
}

/** The last request is taken when `SHUTDOWN_DELAY` ends, and may need a connection and a statement. */
function shutdownTime(configuration: Configuration): Finding {
  const { SHUTDOWN_DELAY, SHUTDOWN_TIMEOUT, DATABASE_CONNECTION_TIMEOUT, DATABASE_STATEMENT_TIMEOUT } = configuration;
  const left = SHUTDOWN_TIMEOUT * CUT_OFF - SHUTDOWN_DELAY;
  const needed = DATABASE_CONNECTION_TIMEOUT + DATABASE_STATEMENT_TIMEOUT;
  const found = `a request may take ${figure(needed)} s and has ${figure(left)} s when the process ends`;
  return needed <= left
    ? ok(found)
    : warning(
        `${found}: the last ones are cut off`,
        `Set SHUTDOWN_TIMEOUT to ${Math.ceil((needed + SHUTDOWN_DELAY) / CUT_OFF)} or more, and the grace period of whatever ends ` +
          'the process to longer than that; or DATABASE_CONNECTION_TIMEOUT and DATABASE_STATEMENT_TIMEOUT to less.',
      );
}

function keepAliveTime({ KEEP_ALIVE_TIMEOUT }: Configuration): Finding {
  const found = `KEEP_ALIVE_TIMEOUT ${KEEP_ALIVE_TIMEOUT} s`;
  return KEEP_ALIVE_TIMEOUT > LOAD_BALANCER
    ? ok(`${found}, longer than the ${LOAD_BALANCER} s of nginx and AWS`)
    : warning(
        `${found}: a load balancer that keeps connections for ${LOAD_BALANCER} s, as nginx and AWS do, sends some requests into closed ones`,
        "Set KEEP_ALIVE_TIMEOUT to more than the load balancer's, such as 65; without one, leave it.",
      );
}

function idempotencyTime(configuration: Configuration): Finding {
  const { IDEMPOTENCY_TTL, DATABASE_CONNECTION_TIMEOUT, DATABASE_STATEMENT_TIMEOUT } = configuration;
  const longest = REPEATS + DATABASE_CONNECTION_TIMEOUT + DATABASE_STATEMENT_TIMEOUT;
  const found = `IDEMPOTENCY_TTL ${IDEMPOTENCY_TTL} s`;
  return IDEMPOTENCY_TTL >= longest
    ? ok(found)
    : warning(
        `${found}, and clients may repeat a request for ${figure(longest)} s: a late repeat creates a second time`,
        `Set IDEMPOTENCY_TTL to ${Math.ceil(longest)} or more.`,
      );
}

/** Without the digits that binary fractions add. */
function figure(seconds: number): string {
  return String(Math.round(seconds * 1000) / 1000);
}
