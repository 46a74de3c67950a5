import type { Result } from 'ioredis';
import type { RedisConnection } from '../redis/connect-redis.js';
import type { WindowState } from './sliding-window.js';

/**
 * Counts one call in the sliding window of a key: a list of the times of its counted calls, oldest first, in microseconds of Redis'
 * clock.
 *
 * `KEYS[1]`: the list. `ARGV[1]`: calls in any window. `ARGV[2]`: length of the window in microseconds.
 *
 * Returns whether the call was counted, how many may follow, and the microseconds until a slot becomes free.
 */
const SCRIPT = `
local key, limit, length = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- Where the clock was set back, time stands still until it has caught up, for a window at most.
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

/** A sliding window in Redis, exact for all processes that count in it. */
export class RedisWindow {
  constructor(
    private readonly connection: RedisConnection,
    private readonly keyPrefix: string,
  ) {
    connection.defineCommand('slidingWindow', { numberOfKeys: 1, lua: SCRIPT });
  }

  /**
   * Counts one call of a token, if there is room for it.
   *
   * @param limit - calls in any window
   * @param length - of the window, in milliseconds
   * @param suffix - of the name of the key. The braces put all names of one token into one slot of a cluster
   * @throws Error when Redis cannot be reached or cannot count
   */
  async hit(token: string, limit: number, length: number, suffix = ''): Promise<WindowState> {
    const key = `${this.keyPrefix}rate-limit:{${token}}${suffix}`;
    const [admitted, remaining, freeIn] = await this.connection.slidingWindow(key, limit, length * 1000);
    return { admitted: admitted === 1, remaining, freeIn: freeIn / 1000 };
  }
}
