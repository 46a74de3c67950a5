import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AuthGuard, PassportModule } from '@nestjs/passport';
import { ThrottlerModule } from '@nestjs/throttler';
import { BearerStrategy } from './auth/bearer.strategy.js';
import { TokenThrottlerGuard } from './auth/token-throttler.guard.js';
import { databaseProviders } from './database.js';
import { ItemsController } from './items/items.controller.js';
import { ItemsService } from './items/items.service.js';

const { RATE_LIMIT, RATE_LIMIT_WINDOW } = process.env;

/** A Nest service as its documentation shows how to make one. */
@Module({
  imports: [
    PassportModule,
    ThrottlerModule.forRoot([{ limit: Number(RATE_LIMIT), ttl: Number(RATE_LIMIT_WINDOW) * 1000, blockDuration: 0 }]),
  ],
  controllers: [ItemsController],
  providers: [
    ...databaseProviders,
    ItemsService,
    BearerStrategy,
    { provide: APP_GUARD, useClass: AuthGuard('bearer') },
    { provide: APP_GUARD, useClass: TokenThrottlerGuard },
  ],
})
export class AppModule {}
