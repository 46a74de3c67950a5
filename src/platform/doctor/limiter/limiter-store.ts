import { Cluster, type Redis } from 'ioredis';
import { connectRedis, type RedisConnection } from '../../redis/connect-redis.js';
import type { RedisLocation } from '../../redis/redis-url.js';
import { CONNECT_TIMEOUT } from '../../throttling/rate-limiter.js';

/** The connection to Redis, made when it is first needed, as the service makes its own. */
export class LimiterStore {
  private opening: Promise<RedisConnection> | undefined;

  constructor(private readonly location: RedisLocation) {}

  /** @throws Error when it cannot be made, with what Redis or the network said as its cause */
  connection(): Promise<RedisConnection> {
    this.opening ??= connectRedis(this.location, CONNECT_TIMEOUT);
    return this.opening;
  }

  /** Each server that keeps windows. */
  async nodes(): Promise<Redis[]> {
    const connection = await this.connection();
    return connection instanceof Cluster ? connection.nodes('master') : [connection];
  }

  async close(): Promise<void> {
    const opened = await this.opening?.catch(() => undefined);
    opened?.disconnect();
  }
}
