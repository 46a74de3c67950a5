import { Redis } from 'ioredis';
import { generateToken } from '../../src/platform/auth/token-format.js';
import { doctor } from '../support/doctor.js';
import { HttpClient } from '../support/http-client.js';
import { Load, outcomesOf } from '../support/load.js';
import { MountedSecret } from '../support/mounted-secret.js';
import { ServiceProcess } from '../support/process.js';
import { RedisServer, startRedisCluster, startRedisSentinel } from '../support/redis.js';
import { createTestDatabase } from '../support/test-database.js';
import { declareToken } from '../support/tokens.js';

const UNREADABLE = 'The file of REDIS_PASSWORD_FILE cannot be read: new connections fail.';

const DECIDED_BY_REDIS = 'items_rate_limit_decisions_total{decision="admitted",storage="redis"}';

/** Connections that stay authenticated, one to each server. */
async function administer(ports: readonly number[], password?: string): Promise<Redis[]> {
  const connections = ports.map((port) => new Redis({ port, ...(password !== undefined && { password }) }));
  await Promise.all(connections.map((connection) => connection.ping()));
  return connections;
}

/** Gives all servers a password, as replicas and to their replicas, and tells a Sentinel, which would otherwise take them for gone. */
async function set(administrators: readonly Redis[], password: string, sentinel?: number): Promise<void> {
  if (sentinel !== undefined) {
    const [connection] = await administer([sentinel]);
    await connection?.call('SENTINEL', 'SET', 'main', 'auth-pass', password);
    connection?.disconnect();
  }
  for (const each of administrators) {
    await each.config('SET', 'masterauth', password);
    await each.config('SET', 'requirepass', password);
  }
}

/** Ends the connections of the service. */
async function kill(administrators: readonly Redis[]): Promise<void> {
  for (const each of administrators) await each.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
}

it.each<[string, string | undefined, () => Promise<{ url: string; ports: number[]; sentinel?: number }>]>([
  [
    'one server',
    'first',
    async () => {
      const { port } = await RedisServer.start({ requirepass: 'first' });
      return { url: `redis://127.0.0.1:${port}`, ports: [port] };
    },
  ],
  [
    'a cluster',
    undefined,
    async () => {
      const { url, nodes } = await startRedisCluster();
      return { url, ports: nodes.map(({ port }) => port) };
    },
  ],
  [
    'Sentinel',
    undefined,
    async () => {
      const master = await RedisServer.start();
      const replica = await RedisServer.start({ replicaof: `127.0.0.1 ${master.port}` });
      const { url } = await startRedisSentinel(master);
      return { url, ports: [master.port, replica.port], sentinel: Number(/:(\d+)\/main$/.exec(url)?.[1]) };
    },
  ],
])(
  'takes a new password for new connections to %s, and no request fails [redis-password-rotation]',
  async (kind, initial, begin) => {
    const { url, ports, sentinel } = await begin();
    const administrators = await administer(ports, initial);
    const [first, second] = [generateToken().slice(6), generateToken().slice(6)];
    await set(administrators, first, sentinel);
    const secret = new MountedSecret(`${first}\n`);
    const { environment } = await createTestDatabase();
    const { token, variables } = await declareToken();
    const own = { ...environment, ...variables, REDIS_URL: url, REDIS_PASSWORD_FILE: secret.path };
    const service = await ServiceProcess.startReady({ ...own, LOG_LEVEL: 'debug' });
    // More decisions than there can be requests of the load under way.
    const usesRedis = async () => {
      const decisions = async () => (await service.metric(DECIDED_BY_REDIS)) ?? 0;
      const before = await decisions();
      await service.becomes(async () => (await decisions()) > before + 10);
    };
    const client = new HttpClient(service.origin, token, true);
    const load = new Load([client, client], () => client.list(), 5);
    await usesRedis();

    await set(administrators, second, sentinel);
    secret.update(second);
    expect(service.has('Redis unavailable, counting per process')).toBe(false);
    await kill(administrators);
    await usesRedis();

    secret.remove();
    await kill(administrators);
    await service.becomes(() => service.linesOf(UNREADABLE).length >= 3);
    expect(service.linesOf(UNREADABLE).filter(({ level }) => level === 'warn')).toHaveLength(1);
    secret.update(`${second}\n`);
    await usesRedis();

    expect(Object.keys(outcomesOf(await load.stop()))).toEqual(['200']);
    const diagnosis = await doctor({ ...own, DATABASE_URL: 'postgres://127.0.0.1:1/items' });
    // Of a cluster, ioredis asks any node.
    if (kind !== 'a cluster') expect(diagnosis.found['limiter.connection']).toBe('connected');
    expect(await service.end('SIGTERM')).toBe(0);
    const text = service.output.stdout + service.output.stderr + JSON.stringify(diagnosis);
    for (const password of [first, second]) expect(text).not.toContain(password);
    for (const each of administrators) each.disconnect();
  },
);
