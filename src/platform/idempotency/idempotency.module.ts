import { Module } from '@nestjs/common';
import { DatabaseModule } from '../database/database.module.js';
import { KeptAnswer } from './kept-answer.entity.js';
import { KeptAnswers } from './kept-answers.js';
import { CreateIdempotencyKeys1767225600004 } from './migrations/1767225600004-create-idempotency-keys.js';

/** What makes `@Idempotent()` routes carry out each request once. */
@Module({
  imports: [DatabaseModule.forFeature({ entities: [KeptAnswer], migrations: [CreateIdempotencyKeys1767225600004] })],
  providers: [KeptAnswers],
  exports: [KeptAnswers],
})
export class IdempotencyModule {}
