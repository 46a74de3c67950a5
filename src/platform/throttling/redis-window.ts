import type { Result } from 'ioredis';
import type { RedisConnection } from '../redis/connect-redis.js';
import type { WindowState } from './sliding-window.js';

/**
 * Counts one call in the sliding window of a key: a list of the times of its counted calls, oldest first, in microseconds of Redis'
 * clock. A refused call writes nothing.
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

local count, first = redis.call('LLEN', key), 0
local last = count
while first < last do
  local middle = math.floor((first + last) / 2)
  if redis.call('LINDEX', key, middle) + length <= now then first = middle + 1 else last = middle end
end
count = count - first

local admitted = count < limit
-- The first write adds: without memory Redis refuses it, but not one that follows another write.
if admitted then
  redis.call('RPUSH', key, string.format('%.0f', now))
  redis.call('PEXPIRE', key, math.ceil(length / 1000))
  if first > 0 then redis.call('LTRIM', key, first, -1) end
  count, first = count + 1, 0
end
local leaves = redis.call('LINDEX', key, first + math.max(count - limit, 0)) + length
return { admitted and 1 or 0, math.max(limit - count, 0), leaves - now }
`;

declare module 'ioredis' {
  interface RedisCommander<Context> {
    slidingWindow(key: string, limit: number, length: number): Result<[number, number, number], Context>;
  }
}

/** A sliding window in Redis, exact for all processes that count in it. */
export class RedisWindow {
  /** @param prefix - of the names of its keys */
  constructor(
    private readonly connection: RedisConnection,
    private readonly prefix: string,
  ) {
    connection.defineCommand('slidingWindow', { numberOfKeys: 1, lua: SCRIPT });
  }

  /**
   * Counts one call, if there is room for it.
   *
   * @param limit - calls in any window
   * @param length - of the window, in milliseconds
   * @throws Error when Redis cannot be reached or cannot count
   */
  async hit(key: string, limit: number, length: number): Promise<WindowState> {
    const [admitted, remaining, freeIn] = await this.connection.slidingWindow(this.name(key), limit, length * 1000);
    return { admitted: admitted === 1, remaining, freeIn: freeIn / 1000 };
  }

  /** @throws Error when calls with this key cannot be counted now */
  async probe(key: string): Promise<void> {
    await this.connection.slidingWindow(`${this.name(key)}:probe`, 1000, 1_000_000);
  }

  /** The braces put all names of one key into one slot of a cluster. */
  private name(key: string): string {
    return `${this.prefix}rate-limit:{${key}}`;
  }
}
