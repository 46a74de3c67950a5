import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import { Configuration } from '../config/configuration.js';
import { Metrics } from '../observability/metrics.js';
import type { RedisConnection } from '../redis/connect-redis.js';
import { parseRedisUrl } from '../redis/redis-url.js';
import { within } from '../time/within.js';
import { currentSpan, traced } from '../tracing/traced.js';
import { RedisWindow } from './redis-window.js';
import { SlidingWindow, type WindowState } from './sliding-window.js';

/** The type of `ThrottlerStorage.increment`'s result, which the package does not export. */
type StorageRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/** Milliseconds that the start waits for the first connection. */
const CONNECT_TIME_LIMIT = 500;

/** Milliseconds that a call waits for Redis. */
const TIME_LIMIT = 50;

/** Redis is away after so many slow responses in a row, spread over so many milliseconds. */
const SLOW = { count: 5, time: 500 };

/** Milliseconds between attempts to use Redis again. */
const PROBE_INTERVAL = 250;

/** Milliseconds within which all processes use Redis again. */
const NOTICED_WITHIN = 2000;

/** A limit, and what this process has counted of it. */
interface Rule {
  readonly limit: number;
  /** Length of the window, in milliseconds. */
  readonly ttl: number;
  /** What this process admits of it when it counts for itself. */
  readonly part: number;
  readonly own: SlidingWindow;
}

const STORAGES = ['redis', 'process'] as const;

/**
 * Counts the requests of each token: in Redis for all processes, without it in this process, which then has its part of the limit.
 *
 * Each process counts the calls that it admitted, always. Redis decides while it responds in time. A call with a slow response, and
 * every call while Redis is away, is admitted while this process's own count is below its part. When Redis is back, both must admit
 * for one window. At most limit × (2 − 1/N) calls pass in the window that spans the loss, and never more than the limit in a later one.
 */
export class RateLimitStorage implements ThrottlerStorage, OnApplicationShutdown {
  private readonly logger = new Logger('RateLimiter');
  private readonly decisions;
  private readonly changes;
  private readonly redisDuration;
  /** That of the service, and those that `@Throttle()` asks for. */
  private readonly rules: Rule[] = [];
  private connection: RedisConnection | undefined;
  private redis: RedisWindow | undefined;
  private isAway = false;
  /** The key with which Redis failed last: in a cluster, others may work. */
  private failedKey = '';
  private slow = { count: 0, since: 0 };
  /** Since when, by `performance.now()`, Redis is back: for a window, it and the own count must both admit. */
  private backSince = -Infinity;
  private probing: NodeJS.Timeout | undefined;

  constructor(
    private readonly configuration: Configuration,
    metrics: Metrics,
  ) {
    const { REDIS_URL } = configuration;
    this.decisions = metrics.counter({
      name: 'items_rate_limit_decisions_total',
      help: 'Requests with a valid token, by decision and by where it was made',
      labels: { decision: ['admitted', 'refused'], storage: STORAGES },
    });
    this.changes = metrics.counter({
      name: 'items_rate_limit_storage_changes_total',
      help: 'Changes between Redis and counting in the process',
      labels: { to: STORAGES },
    });
    // No call waits longer than the last bound.
    this.redisDuration = metrics.histogram(
      { name: 'items_rate_limit_redis_duration_seconds', help: 'Time until Redis responds' },
      [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05],
    );
    const shared = 'Whether requests are counted in Redis (1), or in each process (0)';
    metrics.gauge({ name: 'items_rate_limit_shared', help: shared }, () => Number(this.isShared));
    const degraded = 'Whether this process counts for itself although REDIS_URL is set';
    metrics.gauge({ name: 'items_rate_limit_degraded', help: degraded }, () => Number(REDIS_URL !== undefined && !this.isShared));
  }

  /** Connects to Redis, if `REDIS_URL` is set. It may be away. */
  async start(): Promise<void> {
    const { REDIS_URL = '', REDIS_KEY_PREFIX } = this.configuration;
    const location = parseRedisUrl(REDIS_URL);
    if (!location) {
      return;
    }
    // Only those who use Redis load ioredis.
    const { createRedis } = await import('../redis/connect-redis.js');
    const connection = createRedis(location);
    connection.on('error', (error: unknown) => {
      this.leave(error);
    });
    connection.on('close', () => {
      this.leave(new Error('The connection to Redis ended.'));
    });
    this.connection = connection;
    this.redis = new RedisWindow(connection, REDIS_KEY_PREFIX);
    await within(CONNECT_TIME_LIMIT, connection.connect()).catch((error: unknown) => {
      this.leave(error);
    });
    this.probing = setInterval(() => void this.probe(), PROBE_INTERVAL).unref();
  }

  /**
   * Counts one call, if there is room for it. Never fails, and waits for Redis no longer than {@link TIME_LIMIT}.
   *
   * @returns `timeToExpire` and `timeToBlockExpire` in whole seconds, rounded up, until a slot becomes free
   */
  async increment(key: string, ttl: number, limit: number): Promise<StorageRecord> {
    const rule = this.ruleOf(limit, ttl);
    const { admitted, remaining, freeIn } = await (currentSpan()
      ? traced('rate limit', async () => this.hit(key, rule))
      : this.hit(key, rule));
    const seconds = Math.ceil(freeIn / 1000);
    return {
      totalHits: limit - remaining,
      timeToExpire: seconds,
      isBlocked: !admitted,
      timeToBlockExpire: admitted ? 0 : seconds,
    };
  }

  onApplicationShutdown(): void {
    clearInterval(this.probing);
    this.isAway = true;
    this.connection?.disconnect();
  }

  private get isShared(): boolean {
    return this.redis !== undefined && !this.isAway;
  }

  private ruleOf(limit: number, ttl: number): Rule {
    let rule = this.rules.find((known) => known.limit === limit && known.ttl === ttl);
    if (!rule) {
      const part = Math.max(1, Math.floor(limit / this.configuration.RATE_LIMIT_REPLICAS));
      rule = { limit, ttl, part, own: new SlidingWindow(ttl) };
      this.rules.push(rule);
    }
    return rule;
  }

  private hit(key: string, rule: Rule): WindowState | Promise<WindowState> {
    const { own, part } = rule;
    return this.redis && !this.isAway ? this.hitShared(this.redis, key, rule) : this.decided(own.hit(key, part), 'process');
  }

  private async hitShared(redis: RedisWindow, key: string, rule: Rule): Promise<WindowState> {
    const mustAgree = performance.now() < this.backSince + rule.ttl + NOTICED_WITHIN;
    const own = mustAgree ? rule.own.hit(key, rule.part) : undefined;
    if (own && !own.admitted) {
      return this.decided(own, 'process');
    }
    const shared = await this.ask(redis, key, rule);
    if (!shared) {
      return this.decided(own ?? rule.own.hit(key, rule.part), 'process');
    }
    if (own && !shared.admitted) {
      rule.own.remove(key);
    } else if (!own && shared.admitted) {
      rule.own.add(key);
    }
    return this.decided(own && own.remaining < shared.remaining ? own : shared, 'redis');
  }

  private decided(state: WindowState, storage: (typeof STORAGES)[number]): WindowState {
    this.decisions.inc({ decision: state.admitted ? 'admitted' : 'refused', storage });
    currentSpan()?.setAttributes({ 'items.rate_limit.admitted': state.admitted, 'items.rate_limit.storage': storage });
    return state;
  }

  /** @returns undefined when Redis failed or was slow */
  private async ask(redis: RedisWindow, key: string, { limit, ttl }: Rule): Promise<WindowState | undefined> {
    const start = performance.now();
    const response = redis.hit(key, limit, ttl).finally(() => {
      this.redisDuration.observe({}, (performance.now() - start) / 1000);
    });
    response.catch((error: unknown) => {
      this.leave(error, key);
    });
    try {
      const state = await within(TIME_LIMIT, response);
      this.slow = { count: 0, since: 0 };
      return state;
    } catch (error) {
      this.noteSlow(error, key);
      return undefined;
    }
  }

  /** Redis is busy for a moment, or does not respond any more. */
  private noteSlow(error: unknown, key: string): void {
    const now = performance.now();
    const { count, since } = this.slow;
    this.slow = { count: count + 1, since: count === 0 ? now : since };
    if (this.slow.count >= SLOW.count && now - this.slow.since >= SLOW.time) {
      this.leave(error, key);
    }
  }

  /** Counts alone from now on. */
  private leave(reason: unknown, key = this.failedKey): void {
    if (!this.isAway) {
      this.isAway = true;
      this.failedKey = key;
      this.changes.inc({ to: 'process' });
      this.logger.warn({ msg: 'rate limit storage away', err: reason });
    }
  }

  private async probe(): Promise<void> {
    if (!this.isAway || !this.redis) {
      return;
    }
    try {
      await within(TIME_LIMIT, this.redis.probe(this.failedKey));
    } catch {
      return;
    }
    this.isAway = false;
    this.slow = { count: 0, since: 0 };
    this.backSince = performance.now();
    this.changes.inc({ to: 'redis' });
    this.logger.log({ msg: 'rate limit storage back' });
  }
}
