import { Module } from '@nestjs/common';
import { ThrottlerModule } from '@nestjs/throttler';
import { Configuration } from '../config/configuration.js';
import { RateLimitStorage } from './rate-limit.storage.js';
import { RateLimiter } from './rate-limiter.js';

@Module({ providers: [RateLimiter], exports: [RateLimiter] })
class RateLimiterModule {}

/** How many requests a token may make, and where they are counted. */
@Module({
  imports: [
    ThrottlerModule.forRootAsync({
      imports: [RateLimiterModule],
      inject: [Configuration, RateLimiter],
      useFactory: ({ RATE_LIMIT: limit, RATE_LIMIT_WINDOW }: Configuration, limiter: RateLimiter) => {
        const ttl = RATE_LIMIT_WINDOW * 1000;
        return {
          // Without a block duration a refused token waits for the next free slot, no longer.
          throttlers: [{ name: 'default', limit, ttl, blockDuration: 0 }],
          storage: new RateLimitStorage(limiter, limit, ttl),
        };
      },
    }),
  ],
  exports: [ThrottlerModule],
})
export class ThrottlingModule {}
