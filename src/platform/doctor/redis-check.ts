import { once } from 'node:events';
import type { Configuration } from '../config/configuration.js';
import { createRedis } from '../redis/connect-redis.js';
import { parseRedisUrl } from '../redis/redis-url.js';
import type { Check } from './check.js';

/** Redis, where all replicas count requests together. */
export function redisCheck({ REDIS_URL = '', RATE_LIMIT_REPLICAS: replicas }: Configuration): Check {
  const location = parseRedisUrl(REDIS_URL);
  return {
    name: 'limiter.connection',
    advice: 'Set REDIS_URL to a Redis that all replicas reach: until then, each process counts for itself.',
    severity: location ? 'fail' : 'warn',
    run: async () => {
      if (!location) {
        return { fine: replicas === 1, found: `REDIS_URL is unset, RATE_LIMIT_REPLICAS ${replicas}` };
      }
      // It tries again until the process ends, and the first error says most.
      const connection = createRedis(location).on('error', () => undefined);
      await Promise.all([once(connection, 'ready'), connection.connect()]);
      // An ACL may forbid it.
      const info = await connection.info().catch(String);
      return { fine: true, found: 'connected', next: [serverCheck(info)] };
    },
  };
}

function serverCheck(info: string): Check {
  const field = (name: string) => new RegExp(`^${name}:(.*)\r$`, 'm').exec(info)?.[1] ?? '';
  const [version = '', role, memory, policy] = ['redis_version', 'role', 'maxmemory', 'maxmemory_policy'].map(field);
  const isNew = version.localeCompare('6.2', undefined, { numeric: true }) >= 0;
  const fine = isNew && role === 'master' && (memory === '0' || policy === 'noeviction');
  const found = version === '' ? info : `${version}, ${role}, maxmemory ${memory}, maxmemory-policy ${policy}`;
  const advice = 'Use the master of a Redis 6.2 or newer, or of a Valkey, with maxmemory-policy noeviction.';
  return { name: 'limiter.server', advice, severity: 'warn', run: () => ({ fine, found }) };
}
