import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { DataSource } from 'typeorm';
import type { Api } from '../support/api.js';
import { connectTo } from '../support/connect.js';
import { eventually } from '../support/eventually.js';
import { startMeasured } from '../support/scrape.js';
import { databaseUrlOf } from '../support/test-database.js';
import { useService } from '../support/use-service.js';

/** Statements of this database that wait for a lock. */
const WAITING = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

/** Connections of TypeORM's pool, of ten. */
const OTHERS = 4;

const service = useService(() => startMeasured({ DATABASE_STATEMENT_TIMEOUT: '60', DATABASE_CONNECTION_TIMEOUT: '60' }));
let admin: Client;
let observer: Client;

const waiting = async () => (await observer.query(WAITING)).rows.length;
const statusOf = async (client: Api) => (await client.list()).status;
const newClients = (count: number) => Promise.all(Array.from({ length: count }, () => service.newClient()));
const used = async () => (await observer.query('SELECT FROM access_tokens WHERE last_used_on IS NOT NULL')).rows.length;

beforeAll(async () => {
  admin = await connectTo(databaseUrlOf(service.database));
  observer = await connectTo(databaseUrlOf(service.database));
  await admin.query('CREATE TABLE gate ()');
});

it('accepts new tokens while statements of features take the whole pool, and records their use later', async () => {
  const clients = await newClients(20);
  await admin.query('BEGIN; LOCK TABLE gate');
  const blocked = Array.from({ length: 2 * OTHERS }, () => service.app.get(DataSource).query('SELECT FROM gate'));
  await eventually(async () => (await waiting()) === OTHERS);
  expect(await Promise.all(clients.map(statusOf))).toEqual(clients.map(() => 200));
  expect(await waiting()).toBe(OTHERS);
  await admin.query('ROLLBACK');
  await Promise.all(blocked);
  await eventually(async () => (await used()) === clients.length);
});

it('lets tokens wait for their table on the pool, so that pages do not wait with them', async () => {
  const [known, ...clients] = await newClients(11);
  const read = async () => known && (await statusOf(known));
  expect(await read()).toBe(200);
  const errors = async () => (await service.scrape()).sum('items_database_statement_errors_total');
  const before = await errors();
  const began = performance.now();
  await admin.query('BEGIN; LOCK TABLE access_tokens');
  const blocked: Promise<number>[] = [];
  for (const client of clients) {
    blocked.push(statusOf(client));
    await delay(20);
    expect(await read()).toBe(200);
  }
  await eventually(async () => (await waiting()) === OTHERS);
  const seconds = (performance.now() - began) / 1000;
  await admin.query('ROLLBACK');
  expect(await Promise.all(blocked)).toEqual(clients.map(() => 200));
  const failed = (await errors()) - before;
  expect(failed).toBeGreaterThanOrEqual(1);
  expect(failed).toBeLessThanOrEqual(1 + seconds);
});
