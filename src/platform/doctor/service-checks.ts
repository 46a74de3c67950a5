import { once } from 'node:events';
import { readTokensFile, FILE_REMEDY } from '../auth/static/static-tokens.js';
import { fetchKeySet } from '../auth/jwt/jwt-verifier.js';
import { type Configuration, CUT_OFF } from '../config/configuration.js';
import { parseRedisUrl } from '../config/redis-url.js';
import { createRedis, neededRights, RedisWindow } from '../throttling/redis-window.js';
import type { Check } from './check.js';

/** Checks the timeouts, the tokens file, the keys of the issuer, and Redis. */
export function serviceChecks(settings: Configuration): Check[] {
  const { AUTH_JWT_ISSUER: issuer, AUTH_JWT_JWKS_URL: keysUrl, AUTH_TOKENS_FILE: file } = settings;
  return [
    timeoutsCheck(settings),
    {
      name: 'auth.tokens-file',
      advice: FILE_REMEDY,
      run: async () => {
        if (file === undefined) {
          return { fine: true, found: 'AUTH_TOKENS_FILE is unset' };
        }
        const { tokens, faults } = (await readTokensFile(file, settings)).parse();
        return { fine: faults.length === 0, found: faults.join('\n') || `${tokens.size} tokens in ${file}` };
      },
    },
    {
      name: 'auth.issuer-keys',
      advice:
        'Check AUTH_JWT_ISSUER, AUTH_JWT_JWKS_URL and the issuer: without its keys, JWTs are refused. If only a proxy ' +
        'reaches it, set HTTPS_PROXY and NODE_USE_ENV_PROXY=1.',
      run: async () => {
        if (issuer === undefined) {
          return { fine: true, found: 'AUTH_JWT_ISSUER is unset' };
        }
        const { keys } = await fetchKeySet(issuer, keysUrl, AbortSignal.timeout(3000));
        return { fine: keys.length > 0, found: `${keys.length} keys of ${issuer}` };
      },
    },
    redisCheck(settings),
  ];
}

function timeoutsCheck(settings: Configuration): Check {
  const { SHUTDOWN_DELAY, SHUTDOWN_TIMEOUT, FILTER_TIMEOUT, DATABASE_CONNECTION_TIMEOUT } = settings;
  const { DATABASE_STATEMENT_TIMEOUT: statement } = settings;
  // A request that arrives at the end of SHUTDOWN_DELAY may still wait for a connection, or for its turn, and a statement.
  const shutdown = Math.ceil((SHUTDOWN_DELAY + DATABASE_CONNECTION_TIMEOUT + statement) / CUT_OFF);
  const limits = { FILTER_TIMEOUT, DATABASE_STATEMENT_TIMEOUT: statement, SHUTDOWN_TIMEOUT };
  const found = Object.entries(limits).map(([name, seconds]) => `${name} ${seconds} s`);
  const advice = [
    ...(FILTER_TIMEOUT > statement ? [`Set FILTER_TIMEOUT to ${statement} at most.`] : []),
    ...(SHUTDOWN_TIMEOUT < shutdown ? [`Set SHUTDOWN_TIMEOUT to ${shutdown} or more.`] : []),
  ];
  const run = () => ({ fine: advice.length === 0, found: found.join(', ') });
  return { name: 'timeouts', advice: advice.join(' '), severity: 'warn', run };
}

function redisCheck(settings: Configuration): Check {
  const { RATE_LIMIT_REPLICAS: instances, REDIS_URL = '', REDIS_PASSWORD_FILE, REDIS_KEY_PREFIX } = settings;
  const redis = parseRedisUrl(REDIS_URL);
  const remedy = redis
    ? `Start Redis, correct REDIS_URL, or run ACL SETUSER <user> ${neededRights(redis, REDIS_KEY_PREFIX)}`
    : 'Set REDIS_URL';
  return {
    name: 'limiter.connection',
    advice: `${remedy}: until then, each instance counts only its own requests.`,
    severity: redis ? 'fail' : 'warn',
    run: async () => {
      if (!redis) {
        return { fine: instances === 1, found: `REDIS_URL is unset, RATE_LIMIT_REPLICAS ${instances}` };
      }
      // The first error, which rejects, is the most specific. ioredis would print later ones if nothing listened.
      const connection = createRedis(redis, REDIS_PASSWORD_FILE).on('error', () => undefined);
      await Promise.all([once(connection, 'ready'), connection.connect()]);
      // An ACL may forbid INFO.
      const info = await connection.info().catch(String);
      await tryScript(new RedisWindow(connection, REDIS_KEY_PREFIX), info);
      return { fine: true, found: 'connected', next: [redisServerCheck(info)] };
    },
  };
}

/** Runs the script by EVAL and, with its writes, by EVALSHA. The next check warns of a server that takes no writes. */
async function tryScript(window: RedisWindow, info: string): Promise<void> {
  // With a limit of 0, it counts no call.
  await window.hit('doctor', 0, 1000);
  if (info.includes('role:slave')) return;
  try {
    // A window without a length keeps no call, unless the user may not set its expiry.
    await window.hit('doctor', 1, 0);
  } catch (error) {
    await window.forget('doctor').catch(() => undefined);
    if (!String(error).includes('OOM')) throw error;
  }
}

function redisServerCheck(info: string): Check {
  const field = (name: string) => new RegExp(`^${name}:(.*)\r$`, 'm').exec(info)?.[1] ?? '';
  const fields = ['redis_version', 'role', 'used_memory', 'maxmemory', 'maxmemory_policy'];
  const [version = '', role, used, limit, policy] = fields.map(field);
  const isNew = version.localeCompare('6.2', undefined, { numeric: true }) >= 0;
  const fine = isNew && role === 'master' && (limit === '0' || (policy === 'noeviction' && Number(used) < Number(limit)));
  const found =
    version === '' ? info : `${version}, ${role}, used_memory ${used}, maxmemory ${limit}, maxmemory-policy ${policy}`;
  const advice =
    'Use the master of Redis 6.2 or newer, or of Valkey, with maxmemory-policy noeviction, and more memory than it uses.';
  return { name: 'limiter.server', advice, severity: 'warn', run: () => ({ fine, found }) };
}
