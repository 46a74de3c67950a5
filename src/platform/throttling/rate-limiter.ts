import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Configuration } from '../config/configuration.js';
import { Metrics } from '../observability/metrics.js';
import { parseRedisUrl, type RedisLocation } from '../redis/redis-url.js';
import { currentSpan } from '../tracing/current-span.js';
import { traced } from '../tracing/traced.js';
import { RateLimitMetrics } from './rate-limit-metrics.js';
import type { Limiter } from './rate-limit.storage.js';
import { RedisWindow } from './redis-window.js';
import { partOf, SharedLimiter } from './shared-limiter.js';
import { SlidingWindow, type WindowState } from './sliding-window.js';

/** How long an attempt to connect to Redis may take, in milliseconds. */
export const CONNECT_TIMEOUT = 500;

/** The service's limiter: one for all replicas in Redis at `REDIS_URL`, or a part of the limit for this process alone. */
@Injectable()
export class RateLimiter implements Limiter, OnApplicationShutdown {
  private readonly logger = new Logger('RateLimiter');
  private readonly metrics: RateLimitMetrics;
  private readonly own: SlidingWindow;
  private readonly shared: SharedLimiter | undefined;

  constructor(
    private readonly configuration: Configuration,
    metrics: Metrics,
  ) {
    const { RATE_LIMIT: limit, RATE_LIMIT_WINDOW, RATE_LIMIT_REPLICAS: replicas, REDIS_URL } = configuration;
    const length = RATE_LIMIT_WINDOW * 1000;
    const location = REDIS_URL === undefined ? undefined : parseRedisUrl(REDIS_URL);
    this.metrics = new RateLimitMetrics(metrics, location !== undefined, () => this.shared?.isShared ?? false);
    this.own = new SlidingWindow(partOf(limit, replicas), length);
    this.shared = location && this.shareIn(location, { limit, length, replicas });
  }

  /** Connects to Redis, if there is one. It may be away. */
  async start(): Promise<void> {
    await this.shared?.start();
  }

  hit(key: string): WindowState | Promise<WindowState> {
    // At once where nobody has to be asked and nobody looks.
    return this.shared || currentSpan()?.isSampled === true ? this.hitTraced(key) : this.hitOwn(key);
  }

  private hitTraced(key: string): Promise<WindowState> {
    return traced('rate limit', async (span) => {
      const state = await (this.shared?.hit(key) ?? this.hitOwn(key));
      const storage = this.shared?.isShared === true ? 'redis' : 'process';
      span.set({ 'items.rate_limit.admitted': state.admitted, 'items.rate_limit.storage': storage });
      return state;
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.shared?.stop();
  }

  private hitOwn(key: string): WindowState {
    const state = this.own.hit(key);
    this.metrics.decided(state.admitted, false);
    return state;
  }

  private shareIn(location: RedisLocation, window: { limit: number; length: number; replicas: number }): SharedLimiter {
    const { limit, length } = window;
    return new SharedLimiter({
      ...window,
      connect: async () => {
        // Loaded only by those who use it: ioredis makes hundreds of functions at once.
        const { connectRedis } = await import('../redis/connect-redis.js');
        const connection = await connectRedis(location, CONNECT_TIMEOUT);
        return new RedisWindow(connection, this.configuration.REDIS_KEY_PREFIX, limit, length, this.metrics.answered);
      },
      onChange: (isShared, reason) => {
        this.metrics.changed(isShared);
        if (isShared) {
          this.logger.log({ msg: 'rate limit storage back' });
        } else {
          this.logger.warn({ msg: 'rate limit storage away', err: reason });
        }
      },
      onDecision: this.metrics.decided,
    });
  }
}
