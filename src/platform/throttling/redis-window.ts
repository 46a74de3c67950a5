import type { Result } from 'ioredis';
import type { RedisConnection } from '../redis/connect-redis.js';
import type { WindowState } from './sliding-window.js';

/**
 * `KEYS[1]`: a list with the times of the counted calls, oldest first, in microseconds of Redis' clock. `ARGV[1]`: the limit. `ARGV[2]`:
 * length of the window in microseconds. Returns whether the call was counted, the calls left, and the microseconds until a slot is free.
 */
const SCRIPT = `
local key, limit, length = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- If the clock was set back, time stands still until the clock has caught up, for at most one window.
local newest = tonumber(redis.call('LINDEX', key, -1) or 0)
if newest > now + length then redis.call('DEL', key) else now = math.max(now, newest) end

local count = redis.call('LLEN', key)
while count > 0 and redis.call('LINDEX', key, 0) + length <= now do
  redis.call('LPOP', key)
  count = count - 1
end

local admitted = count < limit
if admitted then
  redis.call('RPUSH', key, string.format('%.0f', now))
  redis.call('PEXPIRE', key, math.ceil(length / 1000))
  count = count + 1
end
local leaving = redis.call('LINDEX', key, math.max(count - limit, 0)) or now
return { admitted and 1 or 0, math.max(limit - count, 0), leaving + length - now }
`;

declare module 'ioredis' {
  interface RedisCommander<Context> {
    slidingWindow(key: string, limit: number, length: number): Result<[number, number, number], Context>;
  }
}

/** An exact sliding window in Redis, shared by all processes. */
export class RedisWindow {
  constructor(
    private readonly connection: RedisConnection,
    private readonly keyPrefix: string,
  ) {
    connection.defineCommand('slidingWindow', { numberOfKeys: 1, lua: SCRIPT });
  }

  /** @param length - in milliseconds. @param suffix - of the key, whose braces keep a token's keys in one cluster slot */
  async hit(token: string, limit: number, length: number, suffix = ''): Promise<WindowState> {
    const key = `${this.keyPrefix}rate-limit:{${token}}${suffix}`;
    const [admitted, remaining, freeIn] = await this.connection.slidingWindow(key, limit, length * 1000);
    return { admitted: admitted === 1, remaining, freeIn: freeIn / 1000 };
  }
}
