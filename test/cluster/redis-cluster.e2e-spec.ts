import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { createRedis, neededRights, RedisWindow } from '../../src/platform/throttling/redis-window.js';
import { locationOf, type RedisServer, startRedisCluster } from '../support/redis.js';

let redis: Awaited<ReturnType<typeof startRedisCluster>>;

beforeAll(async () => {
  redis = await startRedisCluster();
});

/** Begins to move a slot. */
async function beginToMove(slot: number, source: RedisServer, target: RedisServer): Promise<void> {
  await target.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', String(await source.command('CLUSTER', 'MYID')));
  await source.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', String(await target.command('CLUSTER', 'MYID')));
}

/** A connection of its own to the cluster, of a user with the rights that `doctor` names. */
async function connect(seeds = redis.url.replace(/^.*\/\//, '')) {
  const location = locationOf(`redis+cluster://limited:canary@${seeds}`);
  const rights = neededRights(location, '').split(' ');
  for (const node of redis.nodes) await node.command('ACL', 'SETUSER', 'limited', 'reset', 'on', '>canary', ...rights);
  const connection = createRedis(location);
  await connection.connect();
  return { connection, window: new RedisWindow(connection, '') };
}

it('counts requests that arrive together while it connects to the nodes of a Redis Cluster [redis-cluster]', async () => {
  const { connection, window } = await connect();
  const tokens = Array.from({ length: 60 }, (_, n) => `token ${n % 20}`);
  const counts = await Promise.all(tokens.map((token) => window.hit(token, 10, 60_000)));
  expect(counts.every(({ admitted }) => admitted)).toBe(true);
  connection.disconnect();
  for (const node of redis.nodes) await node.command('FLUSHALL');
});

it('distributes tokens over the nodes of a Redis Cluster, and counts on for one whose slot moves to another node', async () => {
  const { connection, window } = await connect();
  const remaining = async (token: string) => (await window.hit(token, 10, 60_000)).remaining;
  for (let token = 0; token < 20; token += 1) expect(await remaining(`token ${token}`)).toBe(9);
  const sizes = (await Promise.all(redis.nodes.map((node) => node.command('DBSIZE')))) as number[];
  expect(sizes.reduce((sum, size) => sum + size)).toBe(20);
  expect(Math.min(...sizes)).toBeGreaterThan(0);

  const source = redis.nodes[sizes.indexOf(Math.max(...sizes))];
  const target = redis.nodes.find((node) => node !== source);
  if (!source || !target) throw new Error('There is one node only.');
  const [key = ''] = (await source.command('KEYS', '*')) as string[];
  const [, token = ''] = /\{(.*)\}/.exec(key) ?? [];
  expect(await remaining(token)).toBe(8);
  const slot = Number(await source.command('CLUSTER', 'KEYSLOT', key));
  await beginToMove(slot, source, target);
  expect(await remaining(token)).toBe(7);
  await source.command('MIGRATE', '127.0.0.1', target.port, key, 0, 5000);
  expect(await remaining(token)).toBe(6);
  const owner = String(await target.command('CLUSTER', 'MYID'));
  for (const node of [target, source]) await node.command('CLUSTER', 'SETSLOT', slot, 'NODE', owner);
  expect(await remaining(token)).toBe(5);
  connection.disconnect();
  for (const node of redis.nodes) await node.command('FLUSHALL');
});

it('connects to a Redis Cluster though a node of the URL has no address', async () => {
  const [node] = redis.nodes;
  const { connection, window } = await connect(`missing.invalid,127.0.0.1:${node?.port}`);
  expect(await window.hit('token', 10, 60_000)).toMatchObject({ remaining: 9 });
  await window.forget('token');
  connection.disconnect();
});

it('leaves no rejection unhandled when a node to which a slot moves is lost', async () => {
  const { connection, window } = await connect();
  const unhandled = jest.fn();
  process.on('unhandledRejection', unhandled);
  const slot = Number(await redis.nodes[0]?.command('CLUSTER', 'KEYSLOT', 'token'));
  await window.hit('token', 10, 60_000);
  const counts = await Promise.all(redis.nodes.map((node) => node.command('CLUSTER', 'COUNTKEYSINSLOT', slot)));
  const source = redis.nodes[counts.indexOf(1)];
  const target = redis.nodes.find((node) => node !== source);
  if (!source || !target) throw new Error('No node has the token.');
  await window.forget('token');
  await beginToMove(slot, source, target);
  await target.kill();
  await expect(window.hit('token', 10, 60_000)).rejects.toThrow('Connection is closed.');
  await delay(50);
  expect(unhandled).not.toHaveBeenCalled();
  process.off('unhandledRejection', unhandled);
  connection.disconnect();
});
