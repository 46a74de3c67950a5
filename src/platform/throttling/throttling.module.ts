import { Module } from '@nestjs/common';
import { ThrottlerModule } from '@nestjs/throttler';
import { Configuration } from '../config/configuration.js';
import { InProcessStorage } from './in-process-storage.js';

/** How many requests a token may make, and where they are counted. */
@Module({
  imports: [
    ThrottlerModule.forRootAsync({
      inject: [Configuration],
      useFactory: ({ RATE_LIMIT, RATE_LIMIT_WINDOW }: Configuration) => ({
        // Without a block duration a refused token waits for the next free slot, no longer.
        throttlers: [{ name: 'default', limit: RATE_LIMIT, ttl: RATE_LIMIT_WINDOW * 1000, blockDuration: 0 }],
        storage: new InProcessStorage(RATE_LIMIT, RATE_LIMIT_WINDOW * 1000),
      }),
    }),
  ],
  exports: [ThrottlerModule],
})
export class ThrottlingModule {}
