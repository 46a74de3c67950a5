import { LEEWAY } from '../../auth/jwt/jwt-verifier.js';
import { type Check, failed, type Finding, ok, warning } from '../check.js';
import { certainDistance, type ClockOffset, clockOffset, type ClockSample } from './clock-offset.js';
import type { DatabaseAccess } from './database-access.js';

/**
 * The service takes the time from its own machine: ids, which order lists, the ends of tokens, and JWTs. The database's clock
 * is one that all replicas can be held against. Machines that follow NTP are some milliseconds apart; from a second on,
 * nobody sets one of the clocks, and items of different replicas are listed in an order that people notice.
 */
const NOTICED = 1000;

/** So far off, JWTs are refused that are valid, and accepted that are not: the verifier allows for as much. */
const HARMFUL = LEEWAY * 1000;

const SAMPLES = 5;

/** Whether this machine's clock goes with that of the database. */
export function clockCheck(access: DatabaseAccess): Check {
  return {
    name: 'database.clock',
    needs: ['database.connection'],
    run: async () => {
      const samples: ClockSample[] = [];
      // The first answer waits for a connection and a plan, and is not the quickest.
      while (samples.length <= SAMPLES) samples.push(await look(access));
      return judgeClock(clockOffset(samples));
    },
  };
}

async function look(access: DatabaseAccess): Promise<ClockSample> {
  const asked = Date.now();
  const { theirs } = await access.row<{ theirs: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS theirs',
  );
  return { asked, answered: Date.now(), theirs };
}

/** What is to be thought of so large an offset. */
export function judgeClock(offset: ClockOffset): Finding {
  const { ahead, uncertainty } = offset;
  const side = ahead < 0 ? 'behind' : 'ahead of';
  const found = `the database's is ${Math.abs(Math.round(ahead))} ms ${side} this one, ±${Math.ceil(uncertainty)} ms`;
  const distance = certainDistance(offset);
  const mend = 'Let both machines follow NTP (chronyc tracking, timedatectl), and find out which of them does not.';
  if (distance > HARMFUL) {
    return failed(`${found}: JWTs and expiries of tokens are judged wrongly`, mend);
  }
  return distance > NOTICED ? warning(`${found}: items get wrong times and places in lists`, mend) : ok(found);
}
