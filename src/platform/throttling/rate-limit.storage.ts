import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { ThrottlerModuleOptions, ThrottlerStorage } from '@nestjs/throttler';
import { Configuration } from '../config/configuration.js';
import { warnOnceAMinute } from '../errors/warn-once-a-minute.js';
import type { Metrics } from '../observability/metrics.js';
import { parseRedisUrl, type RedisLocation } from '../config/redis-url.js';
import type { createRedis, RedisConnection, RedisWindow } from './redis-window.js';
import { SERVICE_NAME } from '../service/service.js';
import { withTimeout } from '../time/duration.js';
import { currentSpan, traced } from '../tracing/tracing.js';
import { rateLimitMetrics, type Storage } from './rate-limit.metrics.js';
import { SlidingWindow, type WindowState } from './sliding-window.js';

/** Times in milliseconds. */
const TIMES = {
  /** Longest wait for the first connection at the start. */
  connect: 500,
  /** A response of Redis that takes longer is slow. */
  slow: 50,
  /** Longest wait of a request, after which Redis counts as away; also after at least five slow responses over that time. */
  away: 500,
  /** Between two attempts to use Redis again. */
  probe: 250,
  /** Within this time, all processes use Redis again. */
  back: 2000,
};

const SLOW_RESPONSES = 5;

const UNAVAILABLE = 'Redis unavailable, counting per process';

/**
 * Options of the throttler. Without a block duration, a refused token waits only for the next free slot. `RateLimitGuard`
 * sets the limit, because tokens can have their own: here, `Infinity` marks routes without `@Throttle()`.
 */
export function throttlerOptions(configuration: Configuration, metrics: Metrics): ThrottlerModuleOptions {
  const ttl = configuration.RATE_LIMIT_WINDOW * 1000;
  const throttler = { name: 'default', limit: Infinity, ttl, blockDuration: 0 };
  return { throttlers: [throttler], storage: new RateLimitStorage(configuration, metrics) };
}

/**
 * Counts requests in Redis for all processes, or in this process with its share of the limit.
 *
 * Each process always counts the requests that it admits. Redis decides while it is present: a request waits for a slow
 * response, at most 500 ms. While Redis is away, the process admits if its own count is below its share. For one window
 * after Redis is back, both counts must admit. So at most limit × (2 − 1/N) requests pass in the window in which all
 * processes lose Redis, or in each window while some of them have lost it; in all other windows at most the limit.
 */
export class RateLimitStorage implements ThrottlerStorage, OnApplicationShutdown {
  private readonly logger = new Logger('RateLimiter');
  private readonly metrics;
  /** Requests admitted by this process, by window length (`@Throttle()` can add lengths). */
  private readonly windows = new Map<number, SlidingWindow>();
  private redis: RedisWindow | undefined;
  /** The key whose request showed that Redis is away, to probe that node of a cluster; undefined while Redis is used. */
  private failedKey: string | undefined;
  /** Logs the causes of the latest outage. */
  private warnOfOutage: ReturnType<typeof warnOnceAMinute> | undefined;
  /** Starts of the slow responses in a row, by `performance.now()`. */
  private slowSince: number[] = [];
  /** When Redis came back, by `performance.now()`: -Infinity if it was never away, Infinity while it is not used. */
  private backSince = Infinity;
  private probing: NodeJS.Timeout | undefined;
  private readonly shutdown = new AbortController();

  constructor(
    private readonly configuration: Configuration,
    metrics: Metrics,
  ) {
    this.metrics = rateLimitMetrics(metrics, () => this.redis && this.failedKey === undefined);
  }

  /** Connects to Redis if `REDIS_URL` is set. Does not fail if Redis is away. */
  async start(): Promise<void> {
    const { REDIS_URL = '', REDIS_KEY_PREFIX } = this.configuration;
    const location = parseRedisUrl(REDIS_URL);
    if (!location) {
      return;
    }
    // Loaded only when used.
    const { createRedis, keepConnected, RedisWindow } = await import('./redis-window.js');
    const connection = this.createConnection(createRedis, location)
      .on('error', (error: unknown) =>
        this.failedKey === undefined ? this.countAlone(error) : this.warnOfOutage?.(UNAVAILABLE, error),
      )
      .on('close', () => this.countAlone(new Error('The connection to Redis ended.')));
    keepConnected(connection, location, this.shutdown.signal);
    this.redis = new RedisWindow(connection, REDIS_KEY_PREFIX);
    this.backSince = -Infinity;
    await withTimeout(TIMES.connect, connection.connect()).catch(this.countAlone);
    this.probing = setInterval(() => void this.probe(), TIMES.probe).unref();
  }

  /** Tests override this to simulate Redis. */
  protected createConnection(create: typeof createRedis, location: RedisLocation): RedisConnection {
    return create(location, this.configuration.REDIS_PASSWORD_FILE);
  }

  /** Counts a request if a slot is free. Never rejects; waits at most 500 ms for Redis. @returns seconds, rounded up */
  readonly increment: ThrottlerStorage['increment'] = async (key, ttl, limit, _, name) => {
    // A share of 0 refuses a token, to keep its limit over all processes. A route's is at least 1, and may exceed the limit.
    const share = Math.max(name === 'route' ? 1 : 0, Math.floor(limit / this.configuration.RATE_LIMIT_REPLICAS));
    const { admitted, remaining, freeIn } = await traced('rate limit', () => this.hit(key, limit, ttl, share));
    const seconds = Math.ceil(freeIn / 1000);
    return { totalHits: limit - remaining, timeToExpire: seconds, isBlocked: !admitted, timeToBlockExpire: seconds };
  };

  onApplicationShutdown(): void {
    clearInterval(this.probing);
    this.shutdown.abort();
    this.failedKey ??= '';
    this.redis?.connection.disconnect();
  }

  private async hit(key: string, limit: number, ttl: number, share: number): Promise<WindowState> {
    const window = this.windows.getOrInsertComputed(ttl, () => new SlidingWindow(ttl));
    // The share applies until one window after Redis is back. While it is away, this is the earliest such time.
    const keepsUntil = () => Math.min(this.backSince, performance.now()) + ttl + TIMES.back;
    const keepsToShare = () => performance.now() < keepsUntil();
    const start = performance.now();
    const reserved = keepsToShare() ? window.hit(key, share, start) : undefined;
    const shared = reserved?.admitted === false ? undefined : await this.ask(key, limit, ttl);
    if (shared?.admitted === false) {
      if (reserved) {
        window.remove(key, start);
      }
      return this.decided(shared, 'redis');
    }
    // Checks again: during the wait, the process may have lost Redis and returned to it, so that the share applies.
    if (shared && !reserved && !keepsToShare()) {
      window.hit(key, Infinity);
      return this.decided(shared, 'redis');
    }
    const own = reserved ?? window.hit(key, share);
    if (!shared || !own.admitted) {
      return this.decided({ ...own, freeIn: share > 0 ? own.freeIn : keepsUntil() - performance.now() }, 'process');
    }
    return this.decided(own.remaining < shared.remaining ? own : shared, 'redis');
  }

  private decided(state: WindowState, storage: Storage): WindowState {
    this.metrics.decisions.inc({ decision: state.admitted ? 'admitted' : 'refused', storage });
    const attribute = `${SERVICE_NAME}.rate_limit`;
    currentSpan()?.setAttributes({ [`${attribute}.admitted`]: state.admitted, [`${attribute}.storage`]: storage });
    return state;
  }

  /** @returns undefined if Redis is away, fails, or does not respond in time */
  private async ask(key: string, limit: number, ttl: number): Promise<WindowState | undefined> {
    if (!this.redis || this.failedKey !== undefined) {
      return undefined;
    }
    const start = performance.now();
    const response = this.redis.hit(key, limit, ttl).finally(() => {
      this.metrics.redisDuration.observe({}, (performance.now() - start) / 1000);
    });
    try {
      const state = await withTimeout(TIMES.slow, response);
      this.slowSince = [];
      return state;
    } catch (error) {
      this.slowSince.push(start);
      const isAway =
        this.slowSince.length >= SLOW_RESPONSES && performance.now() - (this.slowSince[0] ?? start) >= TIMES.away;
      const rest = isAway ? Promise.reject(error) : withTimeout(TIMES.away - TIMES.slow, response);
      return rest.catch((reason: unknown) => this.countAlone(reason, key));
    }
  }

  private readonly countAlone = (reason: unknown, key = ''): undefined => {
    if (this.failedKey === undefined) {
      this.failedKey = key;
      this.backSince = Infinity;
      this.metrics.changes.inc({ to: 'process' });
      this.warnOfOutage = warnOnceAMinute(this.logger);
      this.warnOfOutage(UNAVAILABLE, reason);
    }
  };

  private async probe(): Promise<void> {
    const { redis, failedKey } = this;
    if (!redis || failedKey === undefined) {
      return;
    }
    const isBack = await withTimeout(TIMES.slow, redis.hit(failedKey, 1000, 1000, ':probe')).catch((error: unknown) =>
      // Without a connection, the listener for its errors logs the cause.
      redis.isConnected ? this.warnOfOutage?.(UNAVAILABLE, error) : undefined,
    );
    // Probes of a busy process can overlap.
    if (isBack && this.failedKey !== undefined) {
      this.failedKey = undefined;
      this.slowSince = [];
      this.backSince = performance.now();
      this.metrics.changes.inc({ to: 'redis' });
      this.logger.log({ msg: 'Redis available again' });
    }
  }
}
