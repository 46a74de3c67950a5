import { startHaproxy } from '../support/cluster.js';
import { freePort } from '../support/free-port.js';
import { HttpClient } from '../support/http-client.js';
import { admittedOf, Load, outcomesOf } from '../support/load.js';
import { ServiceProcess } from '../support/process.js';
import { query } from '../support/query.js';
import { eventually } from '../support/service.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';
import { issueToken } from '../support/tokens.js';

const ROUNDS = 2;
const REPLICAS = 3;
/** Long enough for the load balancer's next check, in seconds. */
const SHUTDOWN_DELAY = '1';

let database: TestDatabase;
let token: string;
let balancer: Awaited<ReturnType<typeof startHaproxy>>;
const running = new Map<number, ServiceProcess>();
/** Ports that nothing listens on: always the one that the next process takes. */
const free: number[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  token = await issueToken(database.environment);
  while (free.length < REPLICAS + 1) free.push(await freePort());
  const ports = [...free];
  await Promise.all(Array.from({ length: REPLICAS }, startNext));
  balancer = await startHaproxy(ports, REPLICAS);
});

async function startNext(): Promise<number> {
  const port = free.shift() ?? 0;
  const { TEST_REDIS_URL: REDIS_URL } = process.env;
  const environment = { ...database.environment, REDIS_URL, REDIS_KEY_PREFIX: `items-test-${process.pid}:`, SHUTDOWN_DELAY };
  running.set(port, await ServiceProcess.startReady({ ...environment, PORT: String(port) }));
  return port;
}

/** Replaces a process as Kubernetes does with `maxSurge: 1`: the next one is in use before this one gets its signal. */
async function replace(port: number): Promise<number | null> {
  const next = await startNext();
  await eventually(async () => (await balancer.up()).includes(next));
  const code = await running.get(port)?.end('SIGTERM');
  running.delete(port);
  free.push(port);
  return code ?? null;
}

it(`fails no request while each of ${REPLICAS} processes is replaced, ${ROUNDS} times, under load`, async () => {
  const clients = [true, true, true, true, false, false].map(
    (keepAlive) => new HttpClient(balancer.origin, token, keepAlive),
  );
  let count = 0;
  const load = new Load(clients, (client) => ((count += 1) % 2 ? client.create('rolling') : client.list()), 10);
  const codes: (number | null)[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const port of Array.from(running.keys())) codes.push(await replace(port));
  }
  const calls = await load.stop();

  expect(codes).toEqual(Array.from({ length: ROUNDS * REPLICAS }, () => 0));
  expect(Object.keys(outcomesOf(calls)).toSorted()).toEqual(['200', '201']);
  const created = admittedOf(calls).filter(({ status }) => status === 201);
  const rows = await query<{ count: string }>(databaseUrlOf(database), 'SELECT count(*) FROM items');
  expect(rows).toEqual([{ count: String(created.length) }]);
  expect(created.length).toBeGreaterThan(ROUNDS * REPLICAS * 10);
});
