import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { Cluster } from '../support/cluster.js';
import { HttpClient } from '../support/http-client.js';
import { ServiceProcess } from '../support/process.js';
import { type Stage, StatementGate } from '../support/statement-gate.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';
import { issueToken } from '../support/tokens.js';

/** Processes that are started ahead of their death. */
const SPARES = 3;

let database: TestDatabase;
let sql: Client;
let token: string;
let cluster: Cluster;

beforeAll(async () => {
  database = await createTestDatabase();
  token = await issueToken(database.environment);
  sql = new Client(databaseUrlOf(database));
  await sql.connect();
  cluster = await Cluster.start(4, database.environment);
});

afterAll(async () => {
  await sql.end();
  await database.drop();
});

async function idsOf(name: string): Promise<string[]> {
  const { rows } = await sql.query<{ id: string }>('SELECT id FROM items WHERE name = $1', [name]);
  return rows.map(({ id }) => id);
}

/** A process that will be killed at one statement, and its way to the database. */
async function startVictim(): Promise<{ victim: ServiceProcess; gate: StatementGate }> {
  const gate = await StatementGate.start(databaseUrlOf(database));
  return { victim: await ServiceProcess.startReady({ DATABASE_URL: gate.url, DATABASE_POOL_SIZE: '2' }), gate };
}

/** Creates an item on a process that dies at COMMIT, and once more on others. @returns the second answer */
async function createTwice({ victim, gate }: Awaited<ReturnType<typeof startVictim>>, stage: Stage, name: string) {
  const headers = { 'Idempotency-Key': randomUUID() };
  gate.stopAt(
    (statement) => statement.includes('COMMIT'),
    stage,
    () => victim.child.kill('SIGKILL'),
  );
  const [client, survivors] = [new HttpClient(victim.origin, token, false), cluster.client(token)];
  await expect(client.create(name, headers)).rejects.toThrow(/socket hang up|ECONNRESET/);
  const reply = await survivors.create(name, headers);
  survivors.close();
  await gate.stop();
  return reply;
}

it.each([
  ['before COMMIT', 'before', 10, undefined],
  ['between COMMIT and its answer', 'after', 100, 'true'],
] as const)(
  'creates exactly one item when a process is killed %s and the client asks another',
  async (_case, stage, kills, isReplayed) => {
    const spares = Array.from({ length: SPARES }, startVictim);
    for (let kill = 0; kill < kills; kill += 1) {
      const spare = await spares.shift();
      if (spare === undefined) throw new Error('No process is left.');
      if (kill + SPARES < kills) spares.push(startVictim());
      const name = `killed ${stage} ${kill}`;
      const { status, headers, body } = await createTwice(spare, stage, name);
      expect([kill, status, headers['idempotent-replayed']]).toEqual([kill, 201, isReplayed]);
      expect(await idsOf(name)).toEqual([(JSON.parse(body) as { id: string }).id]);
    }
  },
  600_000,
);

it('creates exactly one item for 200 concurrent requests with one key over four processes', async () => {
  const client = cluster.client(token);
  const headers = { 'Idempotency-Key': randomUUID() };
  const replies = await Promise.all(Array.from({ length: 200 }, () => client.create('one of 200', headers)));
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([201]));
  expect(new Set(replies.map(({ body }) => body)).size).toBe(1);
  expect(replies.filter((reply) => reply.headers['idempotent-replayed'] === 'true')).toHaveLength(199);
  expect(await idsOf('one of 200')).toEqual([(JSON.parse(replies[0]?.body ?? '') as { id: string }).id]);
});
