import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Counter, Gauge } from 'prom-client';
import { Configuration } from '../config/configuration.js';
import { Metrics } from '../observability/metrics.js';
import { connectRedis } from '../redis/connect-redis.js';
import { parseRedisUrl, type RedisLocation } from '../redis/redis-url.js';
import type { Limiter } from './rate-limit.storage.js';
import { RedisWindow } from './redis-window.js';
import { partOf, SharedLimiter } from './shared-limiter.js';
import { SlidingWindow, type WindowState } from './sliding-window.js';

/** How long an attempt to connect to Redis may take, in milliseconds. */
const CONNECT_TIMEOUT = 500;

/** The service's limiter: one for all replicas in Redis at `REDIS_URL`, or a part of the limit for this process alone. */
@Injectable()
export class RateLimiter implements Limiter, OnApplicationShutdown {
  private readonly logger = new Logger('RateLimiter');
  private readonly shared: SharedLimiter | undefined;
  private readonly limiter: Limiter;

  constructor(
    private readonly configuration: Configuration,
    private readonly metrics: Metrics,
  ) {
    const { RATE_LIMIT: limit, RATE_LIMIT_WINDOW, RATE_LIMIT_REPLICAS: replicas, REDIS_URL } = configuration;
    const length = RATE_LIMIT_WINDOW * 1000;
    const location = REDIS_URL === undefined ? undefined : parseRedisUrl(REDIS_URL);
    this.shared = location && this.shareIn(location, { limit, length, replicas });
    this.limiter = this.shared ?? new SlidingWindow(partOf(limit, replicas), length);
  }

  /** Connects to Redis, if there is one. It may be away. */
  async start(): Promise<void> {
    await this.shared?.start();
  }

  hit(key: string): WindowState | Promise<WindowState> {
    return this.limiter.hit(key);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.shared?.stop();
  }

  private shareIn(location: RedisLocation, window: { limit: number; length: number; replicas: number }): SharedLimiter {
    const { registry } = this.metrics;
    const registers = [registry];
    const changes = new Counter({
      name: 'items_rate_limit_storage_changes_total',
      help: 'How often the place where requests are counted changed, by the new place',
      labelNames: ['to'],
      registers,
    });
    const limiter = new SharedLimiter({
      ...window,
      connect: async () => {
        const connection = await connectRedis(location, CONNECT_TIMEOUT);
        return new RedisWindow(connection, this.configuration.REDIS_KEY_PREFIX, window.limit, window.length);
      },
      onChange: (isShared, reason) => {
        changes.inc({ to: isShared ? 'redis' : 'process' });
        if (isShared) {
          this.logger.log({ msg: 'rate limit storage back' });
        } else {
          this.logger.warn({ msg: 'rate limit storage away', err: reason });
        }
      },
    });
    const isShared = new Gauge({
      name: 'items_rate_limit_shared',
      help: 'Whether requests are counted in Redis (1), or each process counts for itself (0)',
      registers,
      collect: () => {
        isShared.set(limiter.isShared ? 1 : 0);
      },
    });
    return limiter;
  }
}
