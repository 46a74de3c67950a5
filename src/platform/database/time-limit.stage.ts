import { Injectable } from '@nestjs/common';
import { Configuration } from '../config/configuration.js';
import type { Around, Stage } from '../stages/stage.js';
import { within } from '../time/within.js';
import { databaseBusy } from './database-problem.js';

/**
 * Answers 503 to a request that the database makes wait for too long in all, where each of its statements may still be within
 * its own limit. What the request has begun goes on, and ends as it would have.
 */
@Injectable()
export class TimeLimitStage implements Stage {
  private readonly limit: number;

  constructor({ DATABASE_CONNECTION_TIMEOUT, DATABASE_STATEMENT_TIMEOUT }: Configuration) {
    this.limit = Math.max(DATABASE_CONNECTION_TIMEOUT, DATABASE_STATEMENT_TIMEOUT + 1) * 1000;
  }

  around(): Around {
    return (_request, _response, handle) => within(this.limit, handle(), databaseBusy);
  }
}
