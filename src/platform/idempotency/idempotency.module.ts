import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { MigrationsModule } from '../database/migrations.module.js';
import { KeptAnswer } from './kept-answer.entity.js';
import { KeptAnswers } from './kept-answers.js';
import { CreateIdempotencyKeys1767225600004 } from './migrations/1767225600004-create-idempotency-keys.js';

/** What makes `@Idempotent()` routes carry out each request once. */
@Global()
@Module({
  imports: [TypeOrmModule.forFeature([KeptAnswer]), MigrationsModule.forFeature([CreateIdempotencyKeys1767225600004])],
  providers: [KeptAnswers],
  exports: [KeptAnswers],
})
export class IdempotencyModule {}
