import { Module } from '@nestjs/common';
import { ThrottlerModule } from '@nestjs/throttler';
import { Configuration } from '../config/configuration.js';
import { RateLimitStorage } from './rate-limit.storage.js';

@Module({ providers: [RateLimitStorage], exports: [RateLimitStorage] })
class RateLimitStorageModule {}

/** The limit of requests of each token, and the storage that counts them. */
@Module({
  imports: [
    ThrottlerModule.forRootAsync({
      imports: [RateLimitStorageModule],
      inject: [Configuration, RateLimitStorage],
      useFactory: ({ RATE_LIMIT: limit, RATE_LIMIT_WINDOW }: Configuration, storage: RateLimitStorage) => ({
        // Without a block duration a refused token waits for the next free slot, no longer.
        throttlers: [{ name: 'default', limit, ttl: RATE_LIMIT_WINDOW * 1000, blockDuration: 0 }],
        storage,
      }),
    }),
  ],
  exports: [ThrottlerModule],
})
export class ThrottlingModule {}
