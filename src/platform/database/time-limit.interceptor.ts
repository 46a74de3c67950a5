import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { type Observable, throwError, timeout } from 'rxjs';
import { Configuration } from '../config/configuration.js';
import { databaseBusy } from './database-problem.js';

/**
 * Answers 503 to a request that the database makes wait for too long in all, where each of its statements may still be within
 * its own limit. What the request has begun goes on, and ends as it would have.
 */
@Injectable()
export class TimeLimitInterceptor implements NestInterceptor {
  private readonly limit: number;

  constructor({ DATABASE_CONNECTION_TIMEOUT, DATABASE_STATEMENT_TIMEOUT }: Configuration) {
    this.limit = Math.max(DATABASE_CONNECTION_TIMEOUT, DATABASE_STATEMENT_TIMEOUT + 1) * 1000;
  }

  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(timeout({ first: this.limit, with: () => throwError(databaseBusy) }));
  }
}
