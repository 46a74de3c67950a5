import { setTimeout as delay } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { ItemsModule } from '../../src/items/items.module.js';
import { PlatformModule } from '../../src/platform/platform.module.js';
import { NoticesModule } from '../fixtures/notices/notices.module.js';
import { eventually } from '../support/eventually.js';
import { MailServer } from '../support/mail.js';
import { startPgBouncer } from '../support/pgbouncer.js';
import { query } from '../support/query.js';
import { type Service, startService } from '../support/service.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';

// Jobs of pg-boss in two instances.

@Module({ imports: [PlatformModule, ItemsModule, NoticesModule] })
class OtherTeamsModule {}

let database: TestDatabase;
let url: string;
let mail: MailServer;
const services: Service[] = [];

async function instance(environment: NodeJS.ProcessEnv = {}): Promise<Service> {
  const service = await startService({ MAIL_URL: mail.url, ...environment }, database, OtherTeamsModule);
  services.push(service);
  return service;
}

async function stop(service: Service): Promise<void> {
  services.splice(services.indexOf(service), 1);
  await service.stop();
}

/** Stops all, then starts one. */
async function restart(environment?: NodeJS.ProcessEnv): Promise<Service> {
  for (const service of services.splice(0)) await service.stop();
  return instance(environment);
}

async function create({ api }: Service, recipient: string): Promise<string> {
  const { status, body } = await api.callWith<{ id: string }>('POST', '/v1/notices', { recipient, text: 'x' });
  expect(status).toBe(201);
  return body.id;
}

/** How many jobs there are for each state. */
async function states(): Promise<Record<string, number>> {
  const rows = await query<{ state: string; jobs: number }>(
    url,
    'SELECT state, count(*)::int AS jobs FROM queue.job GROUP BY state ORDER BY state',
  );
  return Object.fromEntries(rows.map(({ state, jobs }) => [state, jobs]));
}

const unsent = async () => (await query(url, 'SELECT FROM notices WHERE sent_at IS NULL')).length;

beforeAll(async () => {
  mail = await MailServer.start();
  database = await createTestDatabase();
  url = databaseUrlOf(database);
});

afterAll(async () => {
  for (const service of services) await service.stop();
  await database.drop();
});

it('two instances that start at once on an empty database run each job once', async () => {
  const [one, two] = await Promise.all([instance(), instance()]);
  const ids: string[] = [];
  for (let number = 0; number < 10; number += 1) {
    ids.push(...(await Promise.all([one, two].map((service) => create(service, 'of two')))));
  }
  await eventually(async () => (await unsent()) === 0);
  const keys = mail.to('of two').map(({ key }) => key);
  expect(keys.toSorted()).toEqual(ids.toSorted());
  await eventually(async () => (await states())['completed'] === ids.length);
});

it('a job that runs when its instance stops ends before that, or is run again by another one', async () => {
  const [one, two] = services as [Service, Service];
  await stop(two);
  mail.holds = true;
  await create(one, 'ends');
  await eventually(() => mail.to('ends').length === 1);
  const stopping = stop(one);
  const isOpen = () => fetch(`http://127.0.0.1:${one.port}/livez`).then(Boolean, () => false);
  await eventually(async () => !(await isOpen()));
  await delay(1000);
  mail.release();
  await stopping;
  expect([await unsent(), await states()]).toEqual([0, { completed: mail.deliveries.length }]);

  const three = await instance();
  mail.holds = true;
  await create(three, 'is cut short');
  await eventually(() => mail.to('is cut short').length === 1);
  await stop(three);
  expect(await unsent()).toBe(1);
  mail.release();
  await instance();
  await eventually(async () => (await unsent()) === 0);
  expect(new Set(mail.to('is cut short').map(({ key }) => key)).size).toBe(1);
});

it('a job whose instance is cut off is run by another one, and jobs go on when the database is back', async () => {
  const [one] = services as [Service];
  await stop(one);
  const proxy = await TcpProxy.start(url);
  const cutOff = await instance({ DATABASE_URL: proxy.url });
  mail.holds = true;
  await create(cutOff, 'taken over');
  await eventually(() => mail.to('taken over').length === 1);
  proxy.losesEnds = true;
  proxy.swallow();
  mail.holds = false;
  const other = await instance();
  await eventually(async () => (await unsent()) === 0, 90);
  const [first, second] = mail.to('taken over');
  expect(second).toEqual(first);
  mail.release();

  proxy.restore();
  await stop(other);
  await eventually(async () => (await fetch(`http://127.0.0.1:${cutOff.port}/readyz`)).status === 200);
  await create(cutOff, 'back');
  await eventually(async () => (await unsent()) === 0, 90);
}, 300_000);

it('jobs run behind PgBouncer in transaction mode', async () => {
  const pooled = await startPgBouncer(url, 3);
  const service = await restart({ DATABASE_URL: pooled, DATABASE_DIRECT_URL: url });
  await create(service, 'pooled');
  await eventually(async () => (await unsent()) === 0);
  expect(mail.to('pooled')).toHaveLength(1);
});

it('the migration can be repeated, and a role without the right to change tables runs jobs, also after a newer pg-boss did', async () => {
  const role = `notices_${process.pid}`;
  await query(url, "DELETE FROM migrations WHERE name LIKE 'InstallQueue%'");
  const owner = await restart();
  await create(owner, 'of the owner');
  await query(url, `CREATE ROLE ${role} LOGIN`);
  try {
    for (const schema of ['public', 'queue']) {
      await query(url, `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`);
    }
    await query(url, 'UPDATE queue.version SET version = version + 1');
    const service = await restart({
      DATABASE_URL: Object.assign(new URL(url), { username: role }).href,
      MIGRATE_ON_START: 'false',
    });
    await create(service, 'of the role');
    await eventually(async () => (await unsent()) === 0);
    expect([mail.to('of the owner').length, mail.to('of the role').length]).toEqual([1, 1]);
  } finally {
    for (const service of services.splice(0)) await service.stop();
    await query(url, `DROP OWNED BY ${role}`);
    await query(url, `DROP ROLE ${role}`);
  }
});
