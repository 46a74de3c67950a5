import { randomUUID } from 'node:crypto';
import { Cluster } from '../support/cluster.js';
import { HttpClient, type Reply } from '../support/http-client.js';
import { ServiceProcess } from '../support/process.js';
import { query } from '../support/query.js';
import { type Stage, TcpProxy } from '../support/tcp-proxy.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';
import { issueToken } from '../support/tokens.js';

/** Number of processes that are killed at each point. */
const KILLS = 3;

let database: TestDatabase;
let token: string;
let cluster: Cluster;

beforeAll(async () => {
  database = await createTestDatabase();
  token = await issueToken(database.environment);
  cluster = await Cluster.start(4, database.environment);
});

async function idsOf(name: string): Promise<string[]> {
  const rows = await query<{ id: string }>(databaseUrlOf(database), 'SELECT id FROM items WHERE name = $1', [name]);
  return rows.map(({ id }) => id);
}

/** Creates an item on a process that dies at COMMIT, and retries on others. @returns the second response */
async function createTwice(stage: Stage, name: string): Promise<Reply> {
  const gate = await TcpProxy.start(databaseUrlOf(database));
  const victim = await ServiceProcess.startReady({ DATABASE_URL: gate.url, DATABASE_POOL_SIZE: '2' });
  const headers = { 'Idempotency-Key': randomUUID() };
  const isHere = (statement: string) => /\bCOMMIT\b/.test(statement);
  gate.trap = { isHere, stage, action: () => victim.child.kill('SIGKILL') };
  await expect(new HttpClient(victim.origin, token, false).create(name, headers)).rejects.toThrow(
    /socket hang up|ECONNRESET/,
  );
  return cluster.client(token).create(name, headers);
}

it.each([
  ['before COMMIT', 'before', undefined],
  ['between COMMIT and its answer', 'after', 'true'],
] as const)(
  'creates exactly one item when a process is killed %s and the client asks another [retry-after-break]',
  async (_case, stage, isReplayed) => {
    const names = Array.from({ length: KILLS }, (_, kill) => `killed ${stage} ${kill}`);
    const replies = await Promise.all(names.map((name) => createTwice(stage, name)));
    for (const [kill, { status, headers, body }] of replies.entries()) {
      expect([status, headers['idempotent-replayed']]).toEqual([201, isReplayed]);
      expect(await idsOf(names[kill] ?? '')).toEqual([(JSON.parse(body) as { id: string }).id]);
    }
  },
);

it('creates exactly one item for 200 concurrent requests with one key over four processes [key-concurrent] [replicas-share]', async () => {
  const client = cluster.client(token);
  const headers = { 'Idempotency-Key': randomUUID() };
  const replies = await Promise.all(Array.from({ length: 200 }, () => client.create('one of 200', headers)));
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([201]));
  expect(new Set(replies.map(({ body }) => body)).size).toBe(1);
  expect(replies.filter((reply) => reply.headers['idempotent-replayed'] === 'true')).toHaveLength(199);
  expect(await idsOf('one of 200')).toEqual([(JSON.parse(replies[0]?.body ?? '') as { id: string }).id]);
});
