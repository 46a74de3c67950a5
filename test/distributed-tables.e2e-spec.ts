import { jest } from '@jest/globals';
import { DataSource } from 'typeorm';
import { AccessTokensService } from '../src/platform/auth/access-tokens.service.js';
import { DatabaseMetrics } from '../src/platform/database/database-metrics.js';
import { StoredResponses } from '../src/platform/idempotency/stored-responses.js';
import { PageReader } from '../src/platform/lists/page-reader.js';
import { startService, TESTER } from './support/service.js';
import { useService } from './support/use-service.js';

/** The tables that Citus distributes, by the column whose value says on which server a row is (docs/scaling.md). */
const DISTRIBUTED = { items: 'id', idempotency_keys: 'token_id' } as const;

const service = useService(() => startService({ IDEMPOTENCY_TTL: '1', RATE_LIMIT: '1000' }));
let dataSource: DataSource;
/** Each call has a statement of the service. */
let sent: jest.SpiedFunction<DatabaseMetrics['observe']>;

beforeAll(() => {
  dataSource = service.app.get(DataSource);
  sent = jest.spyOn(service.app.get(DatabaseMetrics), 'observe');
});

const query = <Row>(sql: string, parameters: unknown[] = []) => dataSource.query<Row[]>(sql, parameters);

/** Statements that need rows of other servers, or that two servers could execute differently. */
async function faultsOf(statement: string): Promise<string[]> {
  const code = statement.replaceAll(/'(?:[^']|'')*'|"/g, '');
  if (/\baccess_tokens\b.*\bSKIP LOCKED\b/.test(code)) {
    return ['changes some copies of a table only'];
  }
  if (!Object.keys(DISTRIBUTED).some((table) => new RegExp(`\\b${table}\\b`).test(code))) {
    return [];
  }
  const functions = [...code.matchAll(/\b([a-z_]\w*) ?\(/gi)].map(([, name = '']) => name.toLowerCase());
  const decided = await query<{ proname: string }>(
    `SELECT DISTINCT proname FROM pg_proc WHERE proname = ANY($1) AND provolatile <> 'i'`,
    [functions],
  );
  const rules = {
    'reads a clock': /\bcurrent_(?:date|time|timestamp)\b|\blocaltime/i,
    'locks rows of several servers': /\bFOR (?:NO KEY )?(?:UPDATE|SHARE)\b/i,
    'changes or joins several tables': /\bWITH\b|\bJOIN\b|\bUSING\b|\bMERGE\b/i,
    'moves a row to another server': /\bUPDATE (?:items|idempotency_keys)\b.*\bSET\b[^=]*\b(?:id|token_id) =/i,
  };
  const broken = Object.entries(rules).flatMap(([fault, pattern]) => (pattern.test(code) ? [fault] : []));
  return [...decided.map(({ proname }) => `calls ${proname}`), ...broken];
}

it('detects statements that a distributed table cannot run', async () => {
  for (const [statement, faults] of [
    ['INSERT INTO idempotency_keys VALUES ($1) ON CONFLICT (key) DO UPDATE SET status = 1 WHERE now() > $2', ['calls now']],
    [
      'UPDATE access_tokens SET a = 1 WHERE id IN (SELECT id FROM access_tokens FOR UPDATE SKIP LOCKED)',
      [expect.any(String)],
    ],
    ['SELECT now() FROM access_tokens', []],
  ] as const) {
    expect([statement, await faultsOf(statement)]).toEqual([statement, faults]);
  }
});

it('sends none of them [distributed-statements]', async () => {
  const { api } = service;
  const key = { 'Idempotency-Key': 'once' };
  const answers = [await api.create({ name: 'red bicycle' })];
  for (let time = 0; time < 2; time += 1) answers.push(await api.post('{"name":"blue lamp"}', key));
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
  const filters = [
    'name == "red bicycle"',
    'name.contains("lamp")',
    'description == null',
    'createdAt < timestamp("2030-01-01T00:00:00Z")',
  ];
  const walkAll = async () => {
    for (const filter of ['', ...filters, filters.join(' || '), filters.slice(0, 2).join(' && ')]) {
      await api.walk({ filter, limit: '1' });
    }
  };
  await walkAll();
  // As if each filter were slow.
  const reads = service.app.get(PageReader);
  reads.paths.clear();
  jest.spyOn(reads, 'quickly').mockResolvedValue(undefined);
  await walkAll();
  await service.app.get(StoredResponses).deleteExpired();
  const tokens = service.app.get(AccessTokensService);
  await tokens.rotate((await tokens.list())[0]?.id ?? '', { overlap: 0 }, TESTER);
  const statements = [...new Set(sent.mock.calls.map(([text]) => text.replaceAll(/\s+/g, ' ').trim()))];
  for (const word of [
    'INSERT INTO "items"',
    'INSERT INTO idempotency_keys',
    'UPDATE idempotency_keys',
    'DELETE',
    'EXPLAIN',
    'SELECT r.',
  ]) {
    expect(statements.some((statement) => statement.startsWith(word))).toBe(true);
  }
  const faults = await Promise.all(statements.map(async (statement) => [statement, await faultsOf(statement)] as const));
  expect(faults.filter(([, found]) => found.length > 0)).toEqual([]);
});

it('has tables without sequences or references, whose unique constraints include the distribution column [distributed-statements]', async () => {
  for (const [table, column] of Object.entries(DISTRIBUTED)) {
    const unique = await query<{ columns: string[] }>(
      `SELECT ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = indrelid AND attnum = ANY(indkey)) AS columns
       FROM pg_index WHERE indrelid = $1::regclass AND indisunique`,
      [table],
    );
    expect(unique.length).toBeGreaterThan(0);
    expect(unique.filter(({ columns }) => !columns.includes(column))).toEqual([]);
    expect(
      await query(`SELECT FROM pg_constraint WHERE contype IN ('f', 'x') AND $1::regclass IN (conrelid, confrelid)`, [
        table,
      ]),
    ).toEqual([]);
    expect(await query('SELECT FROM pg_attrdef WHERE adrelid = $1::regclass', [table])).toEqual([]);
  }
});
