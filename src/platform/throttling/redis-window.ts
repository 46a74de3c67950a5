import type { Result } from 'ioredis';
import type { RedisConnection } from '../redis/connect-redis.js';
import type { Report } from './admitted-calls.js';
import type { SharedState, SharedWindow } from './shared-window.js';

/**
 * The sliding window of one key, as a list of the times of its counted calls, oldest first, in microseconds of Redis' own
 * clock. A refused call adds nothing.
 *
 * - `KEYS[1]`: the list
 * - `ARGV[1]`: calls in any window; `ARGV[2]`: length of the window in microseconds; `ARGV[3]`: 1 to count a call, 0 not to
 * - `ARGV[4]`: how many times follow; `ARGV[5…]`: these times of calls, which are added unless they are in the list, and then, for calls
 *   that were never in it, how long ago each was made, in microseconds
 *
 * Gives whether the call was counted, how many more may follow, the microseconds until a slot comes free, the time, and the
 * microseconds since the latest counted call.
 */
const SCRIPT = `
local key, limit, length = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

local function timeAt(place)
  return tonumber(redis.call('LINDEX', key, place))
end

local function append(times)
  for place, time in ipairs(times) do times[place] = string.format('%.0f', time) end
  for first = 1, #times, 1000 do
    redis.call('RPUSH', key, unpack(times, first, math.min(first + 999, #times)))
  end
  redis.call('PEXPIRE', key, math.ceil(length / 1000))
end

-- Puts times where they belong, and those called new only if they are not there. What lies in the future is taken to be now.
local function merge(times, new)
  local first = now
  for _, time in ipairs(times) do first = math.min(first, time) end
  for _, time in ipairs(new) do first = math.min(first, time) end
  local known = {}
  local last = timeAt(-1)
  while last and last >= first do
    known[last] = true
    times[#times + 1] = math.min(last, now)
    redis.call('RPOP', key)
    last = timeAt(-1)
  end
  for _, time in ipairs(new) do
    if not known[time] then times[#times + 1] = math.min(time, now) end
  end
  if #times > 0 then
    table.sort(times)
    append(times)
  end
end

local newest = timeAt(-1)
if newest and newest > now then
  -- The clock was set back. What it puts into the future was made by now, and stays a whole window from now.
  merge({}, {})
end

if #ARGV > 4 then
  local times, new = {}, {}
  for place = 5, 4 + ARGV[4] do new[#new + 1] = tonumber(ARGV[place]) end
  for place = 5 + ARGV[4], #ARGV do times[#times + 1] = now - tonumber(ARGV[place]) end
  merge(times, new)
  -- Whatever is reported twice, no more than the latest ones make a difference.
  redis.call('LTRIM', key, -limit, -1)
end

local count = redis.call('LLEN', key)
local first = 0
if count > 0 and timeAt(0) + length <= now then
  local last = count
  first = 1
  while first < last do
    local middle = math.floor((first + last) / 2)
    if timeAt(middle) + length <= now then first = middle + 1 else last = middle end
  end
  count = count - first
end

local admitted = ARGV[3] == '1' and count < limit
-- Added before anything is removed: when Redis has no memory left, it refuses no write that follows another in a script.
if admitted then
  append({ now })
  count = count + 1
end
if first > 0 then
  redis.call('LTRIM', key, first, -1)
end
local nextFree = math.max(count - limit, 0)
return {
  admitted and 1 or 0,
  math.max(limit - count, 0),
  count > 0 and timeAt(nextFree) + length - now or 0,
  now,
  count > 0 and now - timeAt(-1) or 0,
}
`;

declare module 'ioredis' {
  interface RedisCommander<Context> {
    slidingWindow(
      key: string,
      limit: number,
      length: number,
      calls: 0 | 1,
      stamps: number,
      ...times: number[]
    ): Result<[number, number, number, number, number], Context>;
  }
}

/** Milliseconds after which the key that a probe writes is gone. */
const PROBE_LIFE = 1000;

/** A sliding window in Redis, exact for all who count in it together. */
export class RedisWindow implements SharedWindow {
  /**
   * @param connection - which this window may call its own
   * @param prefix - of the names of its keys
   * @param limit - calls in any window
   * @param length - of the window, in milliseconds
   * @param onAnswer - told in seconds how long each call took, whatever came of it
   */
  constructor(
    private readonly connection: RedisConnection,
    private readonly prefix: string,
    private readonly limit: number,
    private readonly length: number,
    private readonly onAnswer: (seconds: number) => void = () => undefined,
  ) {
    connection.defineCommand('slidingWindow', { numberOfKeys: 1, lua: SCRIPT });
  }

  /** Counts one call, if there is room for it. */
  async hit(key: string): Promise<SharedState> {
    const { limit, length } = this;
    const start = performance.now();
    try {
      const answer = await this.connection.slidingWindow(this.name(key), limit, length * 1000, 1, 0);
      const [admitted, remaining, freeIn, stamp, latest] = answer;
      return { admitted: admitted === 1, remaining, freeIn: freeIn / 1000, stamp, latest: latest / 1000 };
    } finally {
      this.onAnswer((performance.now() - start) / 1000);
    }
  }

  /** Adds those of the calls that it does not have. @returns the stamps of those which had none */
  async report(key: string, { stamps, ages }: Report): Promise<number[]> {
    const { limit, length } = this;
    const microseconds = ages.map((age) => Math.round(age * 1000));
    const times = [...stamps, ...microseconds];
    const [, , , now] = await this.connection.slidingWindow(this.name(key), limit, length * 1000, 0, stamps.length, ...times);
    return microseconds.map((age) => now - age);
  }

  /** Tries whether it can be written to where the window of that key is. */
  async probe(key: string): Promise<void> {
    await this.report(key, { stamps: [], ages: [] });
    await this.connection.set(`${this.name(key)}:probe`, '', 'PX', PROBE_LIFE);
  }

  /** Forgets all of a key, as Redis does by itself soon after the last call. */
  async forget(key: string): Promise<void> {
    await this.connection.del(this.name(key), `${this.name(key)}:probe`);
  }

  /** Calls back once when the connection breaks. */
  onBreak(callback: () => void): void {
    this.connection.once('end', callback);
  }

  /** Gives up the connection; whoever waits for an answer is told so. */
  close(): void {
    this.connection.disconnect();
  }

  /** The braces make one slot of a cluster of all that belongs to one key. */
  private name(key: string): string {
    return `${this.prefix}rate-limit:{${key}}`;
  }
}
