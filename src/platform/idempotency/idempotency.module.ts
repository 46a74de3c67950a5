import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { MigrationsModule } from '../database/migrations.js';
import { StoredResponse } from './stored-response.entity.js';
import { StoredResponses } from './stored-responses.js';
import { CreateIdempotencyKeys1767225600004 } from './migrations/1767225600004-create-idempotency-keys.js';

@Global()
@Module({
  imports: [TypeOrmModule.forFeature([StoredResponse]), MigrationsModule.forFeature([CreateIdempotencyKeys1767225600004])],
  providers: [StoredResponses],
  exports: [StoredResponses],
})
export class IdempotencyModule {}
