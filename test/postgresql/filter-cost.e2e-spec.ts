import type { Client } from 'pg';
import { DataSource } from 'typeorm';
import { Item } from '../../src/items/item.entity.js';
import { itemFilter } from '../../src/items/item.filter.js';
import { runStatement } from '../../src/platform/database/run-statement.js';
import { explain } from '../../src/platform/lists/find-filtered.js';
import { statementForFirst } from '../../src/platform/lists/rows.js';
import { ALL_ROWS } from '../../src/platform/lists/list-restriction.js';
import { type Sources, sourcesOf, WINDOW } from '../../src/platform/lists/sources.js';
import type { ProblemBody } from '../support/api.js';
import { connectTo } from '../support/connect.js';
import { type MeasuredService, startMeasured } from '../support/scrape.js';
import { makeFilterSlow, SLOW_FILTER } from '../support/slow-filter.js';
import { databaseUrlOf } from '../support/test-database.js';

let service: MeasuredService;
let client: Client;

beforeEach(async () => {
  service = await startMeasured({ FILTER_TIMEOUT: '0.3', DATABASE_POOL_SIZE: '2' });
  client = await connectTo(databaseUrlOf(service.database));
});

afterEach(() => service.stop());

it('rejects a filter that takes too long, and continues [filter-timeout]', async () => {
  await makeFilterSlow(client, 1000);
  const { status, body } = await service.api.list<ProblemBody>({ filter: SLOW_FILTER });
  expect([status, body.type]).toEqual([400, '/docs/problems#invalid-parameters']);
  expect(body.errors).toEqual([
    {
      parameter: 'filter',
      code: 'limit',
      start: 0,
      end: SLOW_FILTER.length,
      detail: expect.stringMatching(/^takes longer than 0\.3 s: add a more selective condition/),
    },
  ]);
  const selective = `${SLOW_FILTER} && createdAt < timestamp("2026-01-01T00:00:00.010Z")`;
  expect((await service.api.list({ filter: selective })).body).toEqual({ items: [] });
  const scrape = await service.scrape();
  expect(scrape.sum('items_filter_timeouts_total')).toBe(1);
  expect(scrape.sum('items_database_statement_errors_total', { cause: 'timeout' })).toBe(1);
});

/** A list whose description has the settings of the session that reads it. */
async function listSettings() {
  const settings = [
    'transaction_read_only',
    'jit',
    'plan_cache_mode',
    'max_parallel_workers_per_gather',
    'statement_timeout',
  ];
  await client.query(`
    ALTER TABLE items RENAME TO stored_items;
    INSERT INTO stored_items VALUES ('0190163d-8694-739b-aea5-966c26f8ad91', 'settings');
    CREATE VIEW items AS SELECT id, name, concat_ws(' ', ${settings.map((name) => `current_setting('${name}')`).join()}) AS description
    FROM stored_items`);
  const read = async (filter?: string) => {
    const { body } = await service.api.list(filter === undefined ? {} : { filter });
    return body.items[0]?.description;
  };
  return { filtered: await read('name == "settings"'), others: await Promise.all(Array.from({ length: 4 }, () => read())) };
}

it('runs filters read-only, on one processor, and plans them for their values', async () => {
  const { filtered, others } = await listSettings();
  expect(filtered).toBe('on off force_custom_plan 0 300ms');
  // They end with the request: on the same connections, others run as ever.
  expect(others).toEqual(Array(4).fill('off on auto 2 4s'));
});

it('runs lists like this on connections that others do not use, for a moment if they are quick', async () => {
  await service.stop();
  service = await startMeasured({ DATABASE_POOL_SIZE: '5' });
  client = await connectTo(databaseUrlOf(service.database));
  const { filtered, others } = await listSettings();
  expect([filtered, ...new Set(others)]).toEqual(['on off force_custom_plan 0 50ms', 'on off auto 0 50ms']);
  const written = await service.app.get(DataSource).query(`SELECT current_setting('transaction_read_only') AS is`);
  expect(written).toEqual([{ is: 'off' }]);
});

/** Rows that a statement looked at in vain, as PostgreSQL counted them. */
async function rowsRemoved(sources: Sources, source: keyof Sources['from']): Promise<number> {
  const dataSource = service.app.get(DataSource);
  const { text, values } = statementForFirst(dataSource.getRepository(Item), sources, source);
  const plan = JSON.stringify(await dataSource.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values));
  return [...plan.matchAll(/"Rows Removed by (?:Filter|Index Recheck)":(\d+)/g)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );
}

it('does not read the whole table when the planner misjudges the number or the age of the matches', async () => {
  const rows = 20_000;
  // A tenth are bicycles and a tenth are lamps, but never both; another tenth, all of them old, are kettles.
  await client.query(`
    INSERT INTO items SELECT (lpad(to_hex(1767225600000 + n * 1000), 12, '0') || '70008' || lpad(to_hex(n), 15, '0'))::uuid,
      CASE WHEN n <= ${rows / 10} THEN 'kettle' ELSE (ARRAY['bicycle', 'lamp', 'table', 'chair'])[1 + n % 4] END || ' ' || md5(n::text), repeat(md5(n::text), 10)
    FROM generate_series(1, ${rows}) n`);
  await client.query('VACUUM ANALYZE items');
  const items = service.app.get(DataSource).getRepository(Item);
  for (const [filter, found] of [
    ['name.contains("bicycle") && name.contains("lamp")', 0],
    ['name.contains("kettle")', 20],
  ] as const) {
    const sources = sourcesOf(items.metadata, { limit: 20, filter: itemFilter.parse(filter) }, ALL_ROWS);
    expect(await explain((statement) => runStatement(items.manager, statement), sources.all)).toMatchObject({
      readsTable: false,
    });
    // The planner's choice, and the actual statements.
    expect(await rowsRemoved(sources, 'planned')).toBeGreaterThan(0.8 * rows);
    expect(await rowsRemoved(sources, 'recent')).toBeLessThanOrEqual(WINDOW);
    expect(await rowsRemoved(sources, 'keyed')).toBeLessThan(0.01 * rows);
    expect((await service.api.list({ filter })).body.items).toHaveLength(found);
  }
});

it('reads the newest rows first where the planner would read the whole table and sort it', async () => {
  await makeFilterSlow(client, 20_000);
  await client.query('ANALYZE items');
  for (const name of ['newest', 'newest']) await service.api.create({ name });
  const filter = `name == "newest" || ${SLOW_FILTER}`;
  const items = service.app.get(DataSource).getRepository(Item);
  const sources = sourcesOf(items.metadata, { limit: 1, filter: itemFilter.parse(filter) }, ALL_ROWS);
  const plan = await explain(
    (statement) => runStatement(items.manager, statement),
    statementForFirst(items, sources, 'planned'),
  );
  expect(plan).toMatchObject({ sorts: true, readsTable: true });
  const { status, body } = await service.api.list({ filter, limit: '1' });
  expect([status, body.items?.map(({ name }) => name)]).toEqual([200, ['newest']]);
});
