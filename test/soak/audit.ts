import { setTimeout as delay } from 'node:timers/promises';
import { Client } from './client.ts';
import type { Surroundings } from './events.ts';
import { GREEDY } from './traffic/hostile.ts';
import { walk } from './traffic/lists.ts';
import type { World } from './traffic/traffic.ts';

/** How often sessions are counted: probes use one for a moment. */
const SAMPLES = 20;

/** Sessions of the service that never are what they should be, or that are too many. */
export async function auditSessions(surroundings: Surroundings, poolSize: number): Promise<string[]> {
  let faults = await sessionFaults(surroundings, poolSize);
  for (let sample = 1; sample < SAMPLES && faults.length > 0; sample += 1) {
    await delay(50);
    const again = await sessionFaults(surroundings, poolSize);
    faults = again.length === 0 ? again : faults;
  }
  return faults;
}

async function sessionFaults({ database, world: { fleet } }: Surroundings, poolSize: number): Promise<string[]> {
  const rows = await database.queryBoth<{ state: string; count: number }>(
    `SELECT state, count(*)::int FROM pg_stat_activity
     WHERE application_name = 'items' AND backend_type = 'client backend' GROUP BY state`,
  );
  const total = rows.reduce((sum, { count }) => sum + count, 0);
  const most = fleet.instances.length * poolSize * 2;
  const busy = rows.filter(({ state }) => state !== 'idle').map(({ state, count }) => `${count} sessions are ${state}`);
  return total > most ? [...busy, `${total} sessions for ${fleet.instances.length * 2} pools of ${poolSize}`] : busy;
}

/** Default `RATE_LIMIT` and `RATE_LIMIT_WINDOW`. */
const LIMIT = 100;
const WINDOW = 60_000;

/** What the rate limit let pass, also when Redis was lost. @param most - `RATE_LIMIT_REPLICAS` */
export function auditRateLimit({ tally }: World, most: number): string[] {
  const admitted = tally.mostAdmitted(GREEDY, WINDOW);
  const bound = LIMIT * (2 - 1 / most);
  return admitted <= bound ? [] : [`a token was admitted ${admitted} times within a minute, more than ${bound}`];
}

/** Rows and keys that are left, compared with what clients know. */
export async function auditStorage(surroundings: Surroundings, seeded: ReadonlySet<string>): Promise<string[]> {
  const { database, redis, world } = surroundings;
  const { ledger, tokens } = world;
  const client = new Client(world.fleet, world.tally, 'page of the last walk');
  const listed = await walk(client, world, () => 'limit=100');
  client.close();
  const ids = new Set(listed.map(({ id }) => id));
  const [items] = await database.query<{ rows: number }>('SELECT count(*)::int AS rows FROM items');
  const [stored] = await database.query<{ all: number; open: number }>(
    'SELECT count(*)::int AS all, count(*) FILTER (WHERE status IS NULL)::int AS open FROM idempotency_keys',
  );
  const { acknowledged, unknown } = ledger.keys;
  const { all = 0, open = 0 } = stored ?? {};
  const { count, permanent } = await redis.keys();
  return [
    ...ledger.compare(listed, seeded),
    ...(ids.size === listed.length && ids.size === items?.rows
      ? []
      : [`${listed.length} items are listed, and ${items?.rows} are stored`]),
    ...(all >= acknowledged && all <= acknowledged + unknown ? [] : [`${all} keys are stored for ${acknowledged} requests`]),
    ...(open === 0 ? [] : [`${open} keys are stored without a response`]),
    ...(permanent.length === 0 ? [] : [`${permanent.length} keys of Redis do not expire, ${permanent[0]} among them`]),
    ...(count <= tokens.count ? [] : [`Redis has ${count} keys for ${tokens.count} tokens`]),
  ];
}
