import { Pool, type PoolClient } from 'pg';
import { DatabaseClient } from '../../src/platform/database/database-client.js';
import { SharedConnections } from '../../src/platform/database/shared-connections.js';
import { eventually } from '../support/eventually.js';
import { query } from '../support/query.js';
import { createTestDatabase, databaseUrlOf } from '../support/test-database.js';

let pool: Pool;
let connections: SharedConnections;

beforeEach(async () => {
  const connectionString = databaseUrlOf(await createTestDatabase());
  const options = { connectionString, max: 2, pipeline: true, hasSession: true, Client: DatabaseClient };
  pool = new Pool(options);
  connections = new SharedConnections(pool, 2, 400);
});

afterEach(() => connections.end());

const pid = async (seconds = 0) => {
  const text = 'SELECT pg_backend_pid(), pg_sleep($1)';
  const [[found] = []] = await connections.send({ text, values: [seconds], name: 'pid' });
  return found;
};

it('uses another connection only when enough statements are pending, and no more than the pool has', async () => {
  const first = await pid();
  expect(await Promise.all([pid(), pid()])).toEqual([first, first]);
  const many = await Promise.all(Array.from({ length: 9 }, () => pid()));
  expect(new Set(many).size).toBe(2);
  expect([pool.totalCount, connections.idleCount]).toEqual([2, 2]);
});

it('replaces a connection after its lifetime, and lets its statements end', async () => {
  const first = await pid();
  const slow = pid(1);
  await eventually(() => pool.totalCount === 0);
  const second = await pid();
  expect(second).not.toBe(first);
  expect(await slow).toBe(first);
});

it('goes on with another connection after one was lost, or has forgotten its prepared statements', async () => {
  const first = await pid();
  await connections.send({ text: 'DEALLOCATE ALL', values: [] });
  const second = await pid();
  expect(second).not.toBe(first);
  await expect(connections.send({ text: 'SELECT pg_terminate_backend(pg_backend_pid())', values: [] })).rejects.toThrow(
    'terminating',
  );
  expect(await pid()).not.toBe(second);
});

it('replaces an idle connection that the server has ended before a statement needs it', async () => {
  connections = new SharedConnections(pool, 2);
  const ended = new Promise((resolve) => pool.once('connect', (client: PoolClient) => client.once('end', resolve)));
  const first = await pid();
  await query(String(pool.options.connectionString), 'SELECT pg_terminate_backend($1)', [first]);
  await ended;
  expect(await pid()).not.toBe(first);
});
