import { setTimeout as delay } from 'node:timers/promises';
import { IdentityProvider } from '../identity-provider.js';
import { PostgresServer } from '../postgres-server.js';
import { RedisServer } from '../redis.js';
import { SigningKey } from '../signing-key.js';
import { TcpProxy } from '../tcp-proxy.js';
import { issueToken } from '../tokens.js';
import type { Chain } from './rows.js';
import { makeDatabases, serverUrl, shared, startNames } from './servers.js';

export async function limiter(): Promise<Chain> {
  const redis = await RedisServer.start();
  const proxy = await TcpProxy.start(redis.url);
  const [DATABASE_URL, ...emptyUrls] = await makeDatabases(serverUrl, shared('limiter'), 5);
  const faults: Chain['faults'] = {
    'Redis is down': { begin: () => redis.kill(), end: () => redis.restart() },
    'Redis does not respond': { begin: () => redis.signal('SIGSTOP'), end: () => redis.signal('SIGCONT') },
    'Redis is slow': { begin: () => (proxy.delay = 60), end: () => (proxy.delay = 0) },
    'Redis is a replica': {
      begin: () => redis.command('REPLICAOF', '127.0.0.1', 1),
      end: () => redis.command('REPLICAOF', 'NO', 'ONE'),
    },
    'Redis is out of memory': {
      begin: () => redis.command('CONFIG', 'SET', 'maxmemory', 1),
      end: () => redis.command('CONFIG', 'SET', 'maxmemory', 0),
    },
  };
  const environment = { DATABASE_URL, REDIS_URL: proxy.url };
  return { faults, subjects: { environment, emptyUrls, token: await issueToken({ DATABASE_URL }) } };
}

/** Milliseconds after which look-ups of Redis would occupy all threads if each attempt to connect made one. */
const MANY_ATTEMPTS = 7000;

export async function names(): Promise<Chain> {
  const [database, cache] = ['database.test', 'redis.test'];
  const { know, under } = await startNames([database, cache]);
  const redis = await RedisServer.start();
  const postgres = await PostgresServer.start();
  const [url, ...empty] = await makeDatabases(postgres.url, 'matrix', 2);
  const endSessions = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'items'";
  const faults: Chain['faults'] = {
    'DNS does not know Redis and the issuer': {
      begin: async () => {
        know([database]);
        await redis.command('CLIENT', 'KILL', 'TYPE', 'normal');
        await delay(MANY_ATTEMPTS);
        await postgres.query(endSessions);
      },
      end: () => know([database, cache]),
    },
    'DNS does not respond': {
      begin: async () => {
        know([]);
        await postgres.query(endSessions);
      },
      end: () => know([database, cache]),
    },
  };
  const named = (to: string) => Object.assign(new URL(to), { hostname: database }).href;
  const unknown = { AUTH_JWT_ISSUER: 'https://issuer.test', AUTH_JWT_AUDIENCE: 'items' };
  const environment = { DATABASE_URL: named(url), REDIS_URL: `redis://${cache}:${redis.port}`, ...unknown };
  return {
    faults,
    subjects: { environment, emptyUrls: empty.map(named), token: await issueToken({ DATABASE_URL: url }), under },
  };
}

export async function issuer(): Promise<Chain> {
  const provider = await IdentityProvider.start();
  const [DATABASE_URL, ...emptyUrls] = await makeDatabases(serverUrl, shared('issuer'), 1);
  await issueToken({ DATABASE_URL });
  const token = await provider.sign({ scope: 'items:read items:write' });
  // Signed with a key that the service does not have yet.
  const newToken = async () => {
    provider.use([await SigningKey.generate('ES256')]);
    return provider.sign({}, { alg: 'ES256' });
  };
  const faults: Chain['faults'] = {
    'The issuer does not respond': { begin: () => (provider.fault = 'silent'), end: () => (provider.fault = undefined) },
  };
  return { faults, subjects: { environment: { DATABASE_URL, ...provider.environment }, emptyUrls, token, newToken } };
}
