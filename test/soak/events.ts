import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../support/eventually.ts';
import { Client } from './client.ts';
import type { FaultWindows } from './fault-windows.ts';
import { runCommand } from './servers/instance.ts';
import type { Database } from './servers/database.ts';
import type { RedisServer } from './servers/redis.ts';
import { noteCreate } from './traffic/creates.ts';
import type { World } from './traffic/traffic.ts';

/** What the service depends on, which events disturb. */
export interface Surroundings {
  readonly world: World;
  readonly windows: FaultWindows;
  readonly database: Database;
  readonly redis: RedisServer;
}

export interface Event {
  readonly name: string;
  readonly happen: (surroundings: Surroundings) => Promise<void>;
}

/** One round of what happens to the service. The latest instance is the one that is killed, so that the others live long. */
export const events: readonly Event[] = [
  { name: 'PostgreSQL freezes for a second', happen: freeze },
  { name: 'an instance is killed', happen: killInstance },
  { name: 'Redis is killed', happen: killRedis },
  { name: 'PostgreSQL fails over', happen: failOver },
  { name: 'a token is revoked', happen: revoke },
  { name: 'the reader of a log stalls', happen: stallLog },
  { name: 'PostgreSQL restarts', happen: restart },
];

/** Each instance is replaced in turn, and no request fails. */
export async function replaceAll({ fleet }: World): Promise<void> {
  for (const instance of fleet.instances.slice()) await fleet.replace(instance);
}

async function freeze({ windows, database, world }: Surroundings): Promise<void> {
  await windows.during('PostgreSQL frozen', 'unavailable', async () => {
    const unfreeze = database.freeze();
    await delay(1000);
    unfreeze();
    await recovers(world);
  });
}

async function killInstance({ windows, world: { fleet } }: Surroundings): Promise<void> {
  const victim = fleet.instances.at(-1);
  if (!victim) return;
  await windows.during(`${victim.name} killed`, { killed: victim }, () => fleet.kill(victim));
  await fleet.add();
}

/** Not announced: no request fails without Redis. */
async function killRedis({ redis }: Surroundings): Promise<void> {
  await redis.kill();
  await delay(2000);
  await redis.start();
}

async function failOver({ windows, database, world }: Surroundings): Promise<void> {
  await windows.during('failover', 'unavailable', async () => {
    await database.failOver();
    await recovers(world);
  });
  await database.addStandby();
}

async function restart({ windows, database, world }: Surroundings): Promise<void> {
  await windows.during('PostgreSQL restarted', 'unavailable', async () => {
    await database.restart();
    await recovers(world);
  });
}

async function revoke({ world: { tokens, revokedAt }, database }: Surroundings): Promise<void> {
  const [token = ''] = tokens.revocable;
  const by = ['--actor', 'soak', '--reason', 'soak'];
  revokedAt.set(token, NaN);
  await runCommand(['token', 'revoke', token, ...by], { DATABASE_URL: database.url });
  revokedAt.set(token, performance.now());
  await delay(8000);
  tokens.revocable.shift();
}

async function stallLog({ world: { fleet } }: Surroundings): Promise<void> {
  const proceed = fleet.instances[0]?.log.stall();
  await delay(3000);
  proceed?.();
}

/** Waits until every instance is ready, lists and creates. */
async function recovers({ fleet, tally, ledger, tokens }: World): Promise<void> {
  const client = new Client(fleet, tally, 'recovery', false);
  const unavailable = [200, 201, 503];
  await Promise.all(
    fleet.instances.map((to) =>
      eventually(async () => {
        const name = ledger.newName();
        const body = JSON.stringify({ name });
        const list = await client.send({ path: '/v1/items?limit=1', token: tokens.next(), to }, unavailable);
        const made = await client.send({ method: 'POST', path: '/v1/items', token: tokens.next(), body, to }, unavailable);
        noteCreate(ledger, name, made);
        return list.status === 200 && made.status === 201 && (await to.isReady().catch(() => false));
      }),
    ),
  );
  client.close();
}
