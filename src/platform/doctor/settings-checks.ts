import { type Configuration, CUT_OFF } from '../config/configuration.js';
import type { Check } from './check.js';

/** Whether ports and time-outs suit each other. */
export function settingsChecks(settings: Configuration): Check[] {
  const { PORT, METRICS_PORT, SHUTDOWN_DELAY, SHUTDOWN_TIMEOUT, FILTER_TIMEOUT } = settings;
  const { DATABASE_CONNECTION_TIMEOUT, DATABASE_STATEMENT_TIMEOUT: statement } = settings;
  // A request that arrives when SHUTDOWN_DELAY ends may still take a connection and a statement.
  const shutdown = Math.ceil((SHUTDOWN_DELAY + DATABASE_CONNECTION_TIMEOUT + statement) / CUT_OFF);
  const timeOuts = `FILTER_TIMEOUT ${FILTER_TIMEOUT} s, DATABASE_STATEMENT_TIMEOUT ${statement} s, SHUTDOWN_TIMEOUT ${SHUTDOWN_TIMEOUT} s`;
  return [
    {
      name: 'ports',
      advice: 'Set METRICS_PORT to another port.',
      run: () => ({ fine: PORT !== METRICS_PORT || PORT === 0, found: `PORT ${PORT}, METRICS_PORT ${METRICS_PORT}` }),
    },
    {
      name: 'time-outs',
      advice: `Set FILTER_TIMEOUT to ${statement} at most, and SHUTDOWN_TIMEOUT to ${shutdown} or more.`,
      severity: 'warn',
      run: () => ({ fine: FILTER_TIMEOUT <= statement && SHUTDOWN_TIMEOUT >= shutdown, found: timeOuts }),
    },
  ];
}
