import { type ExecutionContext, HttpException, HttpStatus, Injectable } from '@nestjs/common';
import { ThrottlerGuard, type ThrottlerRequest } from '@nestjs/throttler';
import type { Request, Response } from 'express';
import type { AccessToken } from './access-token.entity.js';

/** Counts by token, over all routes together, and tells the state in the headers that the specification names. */
@Injectable()
export class TokenThrottlerGuard extends ThrottlerGuard {
  protected override getTracker(request: Request): Promise<string> {
    return Promise.resolve((request.user as unknown as AccessToken).id);
  }

  protected override generateKey(_context: ExecutionContext, tracker: string): string {
    return tracker;
  }

  protected override async handleRequest(props: ThrottlerRequest): Promise<boolean> {
    const { context, limit, ttl, blockDuration, getTracker, generateKey } = props;
    const request = context.switchToHttp().getRequest<Request>();
    const response = context.switchToHttp().getResponse<Response>();
    const key = generateKey(context, await getTracker(request, context), 'default');
    const state = await this.storageService.increment(key, ttl, limit, blockDuration, 'default');
    const { totalHits, timeToExpire, isBlocked, timeToBlockExpire } = state;
    const reset = isBlocked ? timeToBlockExpire : timeToExpire;
    response.setHeader('RateLimit-Policy', `"default";q=${limit};w=${ttl / 1000}`);
    response.setHeader('RateLimit', `"default";r=${Math.max(0, limit - totalHits)};t=${reset}`);
    if (isBlocked) {
      response.setHeader('Retry-After', reset);
      const usedUp = `The token has used up its requests: at most ${limit} in ${ttl / 1000} seconds. Retry in ${reset} s.`;
      throw new HttpException(usedUp, HttpStatus.TOO_MANY_REQUESTS);
    }
    return true;
  }
}
