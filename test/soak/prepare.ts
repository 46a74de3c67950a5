import { Client as PgClient } from 'pg';
import { makeFilterSlow } from '../support/slow-filter.ts';
import type { Surroundings } from './events.ts';
import { FaultWindows } from './fault-windows.ts';
import { Fleet } from './fleet.ts';
import { Ledger } from './ledger.ts';
import { Database } from './servers/database.ts';
import { runCommand } from './servers/instance.ts';
import { RedisServer } from './servers/redis.ts';
import { Tally } from './tally.ts';
import { Tokens } from './tokens.ts';
import { TOKEN_CACHE_TTL } from './traffic/hostile.ts';
import type { World } from './traffic/traffic.ts';

const INSTANCES = 3;
/** While one is replaced. */
export const MOST_INSTANCES = INSTANCES + 1;
export const POOL_SIZE = 10;

/** So many that none comes near its limit of 100 requests in a minute. */
const TOKENS = 1500;

interface Prepared {
  readonly surroundings: Surroundings;
  /** Ids of the items that were there before. */
  readonly seeded: ReadonlySet<string>;
}

/** @param revocable - tokens that will be revoked @param logs - directory for the logs of all instances */
export async function prepare(revocable: number, logs?: string): Promise<Prepared> {
  const [database, redis] = await Promise.all([Database.start(), RedisServer.start()]);
  await runCommand(['migrate'], { DATABASE_URL: database.url });
  const client = new PgClient(database.url);
  await client.connect();
  await makeFilterSlow(client, 400);
  await client.query(`
    INSERT INTO items SELECT (lpad(to_hex(1767300000000 + n), 12, '0') || '70008' || lpad('', 15, '0'))::uuid,
      'Blue bicycle ' || n, 'Seven gears, one bell.' FROM generate_series(1, 1500) n`);
  const { rows } = await client.query<{ id: string }>('SELECT id FROM items');
  await client.end();
  const tokens = await Tokens.issue(database.url, TOKENS, revocable + 1);
  const fleet = await Fleet.start(
    INSTANCES,
    {
      DATABASE_URL: database.url,
      DATABASE_READ_URL: database.replicaUrl,
      DATABASE_POOL_SIZE: String(POOL_SIZE),
      REDIS_URL: redis.url,
      RATE_LIMIT_REPLICAS: String(MOST_INSTANCES),
      // A busy machine is no fault of the service.
      DATABASE_CONNECTION_TIMEOUT: '15',
      DATABASE_STATEMENT_TIMEOUT: '10',
      TOKEN_CACHE_TTL: String(TOKEN_CACHE_TTL),
      MIGRATE_ON_START: 'false',
    },
    logs,
  );
  const world: World = {
    fleet,
    tally: new Tally(),
    ledger: new Ledger(),
    tokens,
    findings: [],
    walks: { complete: 0 },
    revokedAt: new Map(),
  };
  const surroundings = { world, windows: new FaultWindows(), database, redis };
  return { surroundings, seeded: new Set(rows.map(({ id }) => id)) };
}
