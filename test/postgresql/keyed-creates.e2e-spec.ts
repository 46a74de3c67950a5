import { jest } from '@jest/globals';
import { DataSource, type QueryRunner } from 'typeorm';
import { DatabaseMetrics } from '../../src/platform/database/database-metrics.js';
import { newId } from '../../src/platform/ids/id.js';
import { StoredResponses } from '../../src/platform/idempotency/stored-responses.js';
import { Database } from '../../src/platform/index.js';
import { startService } from '../support/service.js';
import { useService } from '../support/use-service.js';

const service = useService(() => startService());

it('send their claim with the start of the transaction, and their response with its commit', async () => {
  const create = (key: string) => service.api.post('{"name":"x"}', { 'Idempotency-Key': key });
  expect((await create('first')).status).toBe(201);
  // Statements of one turn of the event loop are one write.
  let turn = 0;
  const nextTurn = () => {
    turn += 1;
    timer = setImmediate(nextTurn);
  };
  let timer = setImmediate(nextTurn);
  const sent = jest.spyOn(service.app.get(DatabaseMetrics), 'observe');
  const statements: string[] = [];
  const turns: number[] = [];
  sent.mockImplementation((text) => {
    statements.push(text.trim().split(/\s+/, 3).join(' '));
    turns.push(turn);
    return () => undefined;
  });
  expect((await create('second')).status).toBe(201);
  clearImmediate(timer);
  expect(statements).toEqual([
    'START TRANSACTION ISOLATION',
    'INSERT INTO idempotency_keys',
    'INSERT INTO "items"',
    'UPDATE idempotency_keys SET',
    'COMMIT',
  ]);
  const [begin, claim, insert, store, commit] = turns;
  expect([claim, commit]).toEqual([begin, store]);
  expect(new Set([begin, insert, commit]).size).toBe(3);
});

it('go on after the types of the columns of keys have changed', async () => {
  const create = (key: string) => service.api.post('{"name":"x"}', { 'Idempotency-Key': key });
  const dataSource = service.app.get(DataSource);
  await dataSource.query(
    'CREATE DOMAIN raw AS bytea; ALTER TABLE idempotency_keys ALTER digest TYPE raw, ALTER body TYPE varchar(9999)',
  );
  const statuses = [];
  for (let count = 0; count < 6; count += 1) statuses.push((await create(`after-${count}`)).status);
  expect(statuses).toEqual(statuses.map(() => 201));
});

it('run once in a transaction around them', async () => {
  let runs = 0;
  const request = { ownerId: newId(), key: 'nested', digest: Buffer.alloc(32) };
  const handle = async () => {
    runs += 1;
    await service.app.get(DataSource).query('SELECT 1');
    return { status: 201, body: '{}' };
  };
  const once = () => service.app.get(Database).transaction(() => service.app.get(StoredResponses).once(request, handle));
  expect([(await once()).isReplay, (await once()).isReplay, runs]).toEqual([false, true, 1]);
});

it('leave the statements of subscribers to TypeORM', async () => {
  const dataSource = service.app.get(DataSource);
  const told: unknown[] = [];
  const tell = async ({ queryRunner }: { queryRunner: QueryRunner }) => {
    told.push(await queryRunner.query('SELECT $1::int AS given', [told.length]));
  };
  dataSource.subscribers.push({ afterTransactionStart: tell, beforeTransactionCommit: tell });
  let begun = 0;
  await service.app
    .get(Database)
    .transaction(() => dataSource.query('SELECT 1'), { begin: () => Promise.resolve((begun += 1)) });
  expect([told, begun]).toEqual([[[{ given: 0 }], [{ given: 1 }]], 1]);
});

it('are refused for a moment if another claim violates an index that is being rebuilt [key-not-taken]', async () => {
  const dataSource = service.app.get(DataSource);
  const name = 'rebuilt';
  const create = () => service.api.post(JSON.stringify({ name }), { 'Idempotency-Key': name });
  // As `REINDEX CONCURRENTLY` has beside the primary key.
  await dataSource.query('CREATE UNIQUE INDEX idempotency_keys_pkey_ccnew ON idempotency_keys (key)');
  await dataSource.query(
    `INSERT INTO idempotency_keys (token_id, key, digest, expires_at) VALUES (gen_random_uuid(), $1, '', 'infinity')`,
    [name],
  );
  const detail = 'A concurrent request has the same Idempotency-Key: retry.';
  const refused = await create();
  expect(refused).toMatchObject({ status: 503, body: { detail } });
  expect(refused.headers.get('Retry-After')).toBe('5');
  await dataSource.query('DROP INDEX idempotency_keys_pkey_ccnew');
  expect((await create()).status).toBe(201);
  expect(await dataSource.query('SELECT count(*)::int FROM items WHERE name = $1', [name])).toEqual([{ count: 1 }]);
});
