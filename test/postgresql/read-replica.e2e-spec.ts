import { jest } from '@jest/globals';
import { Module } from '@nestjs/common';
import type { Client } from 'pg';
import { DataSource } from 'typeorm';
import { Item } from '../../src/items/item.entity.js';
import { ItemsModule } from '../../src/items/items.module.js';
import { DatabaseMetrics } from '../../src/platform/database/database-metrics.js';
import { Reader } from '../../src/platform/database/reader.js';
import { Database, Lists } from '../../src/platform/index.js';
import { PlatformModule } from '../../src/platform/platform.module.js';
import { LibraryModule } from '../fixtures/library/library.module.js';
import { TitledLoan } from '../fixtures/library/titled-loan.entity.js';
import { OrdersModule } from '../fixtures/orders/orders.module.js';
import { WidgetsModule } from '../fixtures/widgets/widgets.module.js';
import { connectTo } from '../support/connect.js';
import { startMeasured } from '../support/scrape.js';
import { eventually, type Service, startService } from '../support/service.js';
import { makeFilterSlow, runningFilters, SLOW_FILTER } from '../support/slow-filter.js';
import { allowSlowMachine } from '../support/slow-machine.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';

@Module({ imports: [PlatformModule, ItemsModule, WidgetsModule, LibraryModule, OrdersModule] })
class AppModule {}

/** Lists, each with a property that is a text. */
const TEXTS = {
  '/v1/items': 'description',
  '/v1/widgets': 'name',
  '/v1/books': 'title',
  '/v1/loans': 'borrower',
  '/v1/orders': 'title',
};

/** As if the server were another one: names there say so. */
const VIEWS = `CREATE SCHEMA replica;
  CREATE VIEW replica.items AS SELECT id, 'replica ' || name AS name, description FROM public.items;
  CREATE VIEW replica.titled_loans AS SELECT id, 'replica' AS borrower, days, created_by, title FROM public.titled_loans`;

let database: TestDatabase;
let admin: Client;

beforeEach(async () => {
  database = await createTestDatabase();
  admin = await connectTo(databaseUrlOf(database));
});

afterEach(async () => {
  jest.restoreAllMocks();
  await admin.end();
  await database.drop();
});

/** @param role - of the replica's connections @param path - their `search_path` */
function replicaUrl(role = 'postgres', path = 'replica,public'): string {
  const url = new URL(databaseUrlOf(database, role));
  url.searchParams.set('options', `-c search_path=${path}`);
  return url.href.replaceAll('+', '%20');
}

/** Starts a service that reads from the views, and adds two items. */
async function startReplicated(environment: NodeJS.ProcessEnv = {}, prepare = VIEWS) {
  const urls = { DATABASE_URL: databaseUrlOf(database), DATABASE_READ_URL: replicaUrl() };
  // A busy machine must not look like a replica that does not respond.
  const service = await startMeasured({ ...urls, DATABASE_CONNECTION_TIMEOUT: '60', ...environment }, AppModule);
  await admin.query(prepare);
  await eventually(async () => (await service.scrape()).sum('items_database_replica_ready', { pool: 'replica' }) === 1);
  for (const name of ['a', 'b']) await service.api.create({ name });
  return service;
}

async function namesOf({ api }: Service, query: Record<string, string> = {}) {
  const { status, body } = await api.list(query);
  return [status, ...body.items.map(({ name }) => name)];
}

it('reads first pages from the replica, and from the primary later pages, in transactions, and what TypeORM reads', async () => {
  allowSlowMachine();
  const service = await startReplicated();
  const { body: first } = await service.api.list({ limit: '1' });
  const { body: later } = await service.api.list({ limit: '1', cursor: first.nextCursor ?? '' });
  expect([first.items[0]?.name, later.items[0]?.name]).toEqual(['replica b', 'a']);
  expect(await namesOf(service, { filter: 'name == "replica a"' })).toEqual([200, 'replica a']);
  const [lists, source] = [service.app.get(Lists), service.app.get(DataSource)];
  const find = () => lists.findPage(source.getRepository(Item), { limit: 1 });
  const [outside, inside] = [await find(), await service.app.get(Database).transaction(find)];
  expect([outside.items[0]?.name, inside.items[0]?.name]).toEqual(['replica b', 'b']);
  await admin.query(`INSERT INTO books (id, title, copies, lent) SELECT uuidv4, 'x', 1, 1 FROM gen_random_uuid() AS uuidv4;
    INSERT INTO loans (id, borrower, days, due_at, overdue, created_by, book_id)
      SELECT gen_random_uuid(), 'primary', 1, now(), false, gen_random_uuid(), id FROM books`);
  const { items } = await lists.findPage(source.getRepository(TitledLoan), { limit: 1 });
  expect(items[0]?.borrower).toBe('primary');
  await service.stop();
});

it('uses a replica that takes longer to prove that it is one than a quick statement may take [replica-first-pages]', async () => {
  const proof = `CREATE FUNCTION replica.pg_control_system() RETURNS TABLE (system_identifier bigint) LANGUAGE sql AS
    'SELECT system_identifier FROM pg_catalog.pg_control_system(), pg_sleep(0.2)'`;
  const url = replicaUrl('postgres', 'replica,public,pg_catalog');
  const service = await startReplicated({ DATABASE_READ_URL: url }, `${VIEWS}; ${proof}`);
  expect((await service.scrape()).sum('items_database_replica_ready')).toBe(1);
  await service.stop();
});

it('reads a page from the primary if the replica takes too long for it, and does not try it again for a minute', async () => {
  // Of the primary: those of the replica start with a check of what it is.
  allowSlowMachine((start) => !start.includes('pg_control_system'));
  const slow = VIEWS.replace('FROM public.items', 'FROM public.items, pg_sleep(0.2)');
  const service = await startReplicated({}, slow);
  const sent = jest.spyOn(service.app.get(DatabaseMetrics), 'observe');
  for (let time = 0; time < 5; time += 1) expect(await namesOf(service)).toEqual([200, 'b', 'a']);
  expect(sent.mock.calls.filter(([text]) => text.includes('FROM "items"')).length).toBe(6);
  expect((await service.scrape()).sum('items_database_replica_ready')).toBe(1);
  await service.stop();
});

it('reads from the primary what the replica cannot read before a migration', async () => {
  allowSlowMachine();
  const service = await startReplicated({}, VIEWS.replace(', description FROM', ' FROM'));
  expect(await namesOf(service)).toEqual([200, 'b', 'a']);
  expect(await namesOf(service, { filter: 'name == "a"' })).toEqual([200, 'a']);
  expect((await service.scrape()).sum('items_database_replica_ready')).toBe(1);
  await service.stop();
});

it('does not repeat a filter on the primary that is too slow on the replica', async () => {
  // A slow filter follows a statement that shows that the replica is there.
  allowSlowMachine((start) => !start.includes('plan_cache_mode'));
  const slow = VIEWS.replace('FROM public.items', 'FROM public.items, pg_sleep(0.8)');
  const service = await startReplicated({ FILTER_TIMEOUT: '0.5' }, slow);
  const sent = jest.spyOn(service.app.get(DatabaseMetrics), 'observe');
  expect((await service.api.list({ filter: 'name != "x"' })).status).toBe(400);
  const runs = sent.mock.calls.filter(([text]) => /^SELECT.*FROM.*"items"/s.test(text));
  expect(runs.length).toBe(2);
  await service.stop();
});

it('reads from the primary while the replica accepts no more connections, and goes on with those that it has', async () => {
  allowSlowMachine();
  const role = `full_${process.pid}`;
  // The first connections are for pages, and for what is slow.
  await admin.query(`CREATE ROLE ${role} LOGIN CONNECTION LIMIT 2`);
  const rights = `GRANT USAGE ON SCHEMA replica TO ${role}; GRANT SELECT ON ALL TABLES IN SCHEMA replica TO ${role}`;
  const service = await startReplicated({ DATABASE_READ_URL: replicaUrl(role) }, `${VIEWS}; ${rights}`);
  expect(await namesOf(service, { filter: 'name == "a"' })).toEqual([200, 'a']);
  expect(await namesOf(service)).toEqual([200, 'replica b', 'replica a']);
  expect((await service.scrape()).sum('items_database_replica_ready')).toBe(1);
  await service.stop();
  await admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
});

it('does not read from another database with the same tables', async () => {
  const other = await startService();
  await other.api.create({ name: 'of another database' });
  const service = await startMeasured({
    DATABASE_URL: databaseUrlOf(database),
    DATABASE_READ_URL: databaseUrlOf(other.database),
  });
  await service.api.create({ name: 'a' });
  for (let time = 0; time < 5; time += 1) {
    expect(await namesOf(service)).toEqual([200, 'a']);
    expect((await service.scrape()).sum('items_database_replica_ready')).toBe(0);
  }
  await service.stop();
  await other.stop();
});

it('ends its connections once, also if a list of a replica that does not respond outlives the requests', async () => {
  const proxy = await TcpProxy.start(databaseUrlOf(database));
  const urls = { DATABASE_URL: databaseUrlOf(database), DATABASE_READ_URL: proxy.url };
  const service = await startMeasured({ ...urls, DATABASE_CONNECTION_TIMEOUT: '60' });
  await eventually(async () => (await service.scrape()).sum('items_database_replica_ready') === 1);
  proxy.swallow();
  const list = service.app.get(Lists).findPage(service.app.get(DataSource).getRepository(Item), { limit: 1 });
  const destroyed = jest.spyOn(Reader.prototype, 'destroy');
  await Promise.allSettled([service.stop(), list]);
  // `pg` rejects the second time, for which nothing waits.
  expect(destroyed).toHaveBeenCalledTimes(1);
});

it('lists of several features do not fail or wait long while the replica is frozen, also with slow filters', async () => {
  const proxy = await TcpProxy.start(databaseUrlOf(database));
  // A frozen replica may cost a fifth of the first: the others would make the test fail. On a busy machine, lists wait
  // behind the two slow filters for as long as these take.
  const timeouts = {
    DATABASE_CONNECTION_TIMEOUT: '30',
    DATABASE_STATEMENT_TIMEOUT: '600',
    FILTER_TIMEOUT: '600',
    FILTER_BUDGET: '600',
  };
  const service = await startMeasured(
    { DATABASE_URL: databaseUrlOf(database), DATABASE_READ_URL: proxy.url, ...timeouts },
    AppModule,
  );
  const isReady = async () => (await service.scrape()).sum('items_database_replica_ready') === 1;
  await eventually(isReady);
  await makeFilterSlow(admin, 250);
  const [other, ...clients] = await Promise.all(Array.from({ length: 6 }, () => service.newClient()));
  const isSlow = { filter: SLOW_FILTER };
  expect((await service.api.list(isSlow)).status).toBe(200);
  const running = service.api.list(isSlow);
  await eventually(async () => (await runningFilters(admin)) > 0);
  proxy.swallow();
  const lists = clients.flatMap((client) =>
    Object.entries(TEXTS).flatMap(([path, property]) =>
      ['', `${property} == "x"`, `${property}.contains("y")`].map((filter) => client.list({ filter }, path)),
    ),
  );
  const answers = await Promise.all([running, other?.list(isSlow), ...lists]);
  expect(answers.map((answer) => answer?.status)).toEqual(answers.map(() => 200));
  expect(await isReady()).toBe(false);
  proxy.restore();
  await eventually(isReady);
  await service.stop();
});
