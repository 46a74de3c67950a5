import { Module } from '@nestjs/common';
import { ThrottlerModule } from '@nestjs/throttler';
import { Configuration } from '../config/configuration.js';
import { Metrics } from '../observability/metrics.js';
import { RateLimitStorage } from './rate-limit.storage.js';

/** The limit of requests of each token, and the storage that counts them. */
@Module({
  imports: [
    ThrottlerModule.forRootAsync({
      inject: [Configuration, Metrics],
      useFactory: (configuration: Configuration, metrics: Metrics) => ({
        // Without a block duration a refused token waits for the next free slot, no longer.
        throttlers: [
          { name: 'default', limit: configuration.RATE_LIMIT, ttl: configuration.RATE_LIMIT_WINDOW * 1000, blockDuration: 0 },
        ],
        storage: new RateLimitStorage(configuration, metrics),
      }),
    }),
  ],
  exports: [ThrottlerModule],
})
export class ThrottlingModule {}
