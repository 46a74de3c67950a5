import { type Check, failed, type Finding, ok, warning } from '../check.js';
import { connected } from './connection.js';
import type { DatabaseAccess } from './database-access.js';
import { isSameDatabase } from './identity.js';
import { pendingIn } from './migrations.js';

/** How far a replica may be behind before clients notice, in seconds. */
const NOTICED = 10;

/** How far it has come, and when what it replayed last was written; null before anything was. */
const LAG = `
  SELECT pg_wal_lsn_diff($1, pg_last_wal_replay_lsn())::float8 AS bytes,
         extract(epoch FROM now() - pg_last_xact_replay_timestamp())::float8 AS seconds`;

interface Lag {
  bytes: number;
  seconds: number | null;
}

/**
 * Whether lists can be read from one of `DATABASE_REPLICA_URLS`. One that cannot is a warning: they are read elsewhere.
 *
 * @param place - of its URL, from 1
 */
export function replicaCheck(primary: DatabaseAccess, replica: DatabaseAccess, place: number): Check {
  return {
    name: `database.replica.${place}`,
    needs: ['database.connection', 'database.writable'],
    run: async () => {
      const finding = await connected(replica);
      return finding.status === 'ok' ? judge(finding.found, primary, replica) : { ...finding, status: 'warning' };
    },
  };
}

async function judge(found: string, primary: DatabaseAccess, replica: DatabaseAccess): Promise<Finding> {
  if (!(await isSameDatabase(primary, replica))) {
    return failed(
      `${found}: no replica of the database at DATABASE_URL`,
      'Take it out of DATABASE_REPLICA_URLS: lists would show other data.',
    );
  }
  const { standby } = await replica.row<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
  if (!standby) {
    return warning(`${found}: the primary itself`, 'Take it out of DATABASE_REPLICA_URLS: it takes nothing off the database.');
  }
  const { position } = await primary.row<{ position: string }>('SELECT pg_current_wal_lsn()::text AS position');
  const lag = await replica.row<Lag>(LAG, [position]);
  const [here, there] = await Promise.all([pendingIn(primary), pendingIn(replica)]);
  const missing = there.filter((name) => !here.includes(name));
  return missing.length === 0
    ? judgeLag(found, lag)
    : warning(
        `${found}: has not received ${missing.join(', ')} yet, and is not used before`,
        'Wait until it has, or look why it lags.',
      );
}

/** @param found - what is known of the replica already */
export function judgeLag(found: string, { bytes, seconds }: Lag): Finding {
  if (bytes <= 0) {
    return ok(`${found}, up to date`);
  }
  const behind = `${found}, ${bytes} bytes behind${seconds === null ? '' : `, replaying what is ${Math.round(seconds)} s old`}`;
  return seconds === null || seconds <= NOTICED
    ? ok(behind)
    : warning(behind, 'Look at pg_stat_replication on the primary, and at pg_stat_wal_receiver and the load on the replica.');
}
