import { type ExecutionContext, Injectable } from '@nestjs/common';
import { ThrottlerGuard, type ThrottlerRequest } from '@nestjs/throttler';
import type { Request } from 'express';
import { defineProblemType } from '../http/problem-type.js';
import { Problem } from '../http/problem.js';

const rateLimited = defineProblemType({
  name: 'rate-limited',
  status: 429,
  title: 'Rate limited',
  remedy:
    'The token has used up its requests. Wait for the number of seconds in the `Retry-After` header, then send the request again; refused requests do not count. `RateLimit` on every response says how many are left.',
});

/** @param retryAfter - like `window`, in seconds */
export function rateLimitedProblem(limit: number, window: number, retryAfter: number): Problem {
  const detail = `The token has used up its requests: at most ${limit} in ${window} seconds. Retry in ${retryAfter} s.`;
  return new Problem(rateLimited, detail, { headers: { 'Retry-After': String(retryAfter) } });
}

/**
 * Limits the requests of each token, over all routes together. Runs after authentication; requests that need no token are
 * not counted. Every response carries the state (draft-ietf-httpapi-ratelimit-headers): `r` requests left, and `t` seconds
 * until the next slot becomes free.
 */
@Injectable()
export class RateLimitGuard extends ThrottlerGuard {
  protected override shouldSkip(context: ExecutionContext): Promise<boolean> {
    return Promise.resolve(context.getArgByIndex<Request>(0).user === undefined);
  }

  /** A route with `@Throttle()` has a limit of its own for each token; what it admits counts for that of the service as well. */
  protected override async handleRequest({ context, limit, ttl, throttler }: ThrottlerRequest): Promise<boolean> {
    const request = context.getArgByIndex<Request>(0);
    const token = request.user?.id ?? '';
    if (limit !== throttler.limit || ttl !== throttler.ttl) {
      await this.count(request, `${token} ${context.getClass().name}.${context.getHandler().name}`, 'route', limit, ttl);
    }
    return this.count(request, token, 'default', Number(throttler.limit), Number(throttler.ttl));
  }

  private async count(request: Request, key: string, name: string, limit: number, ttl: number): Promise<true> {
    const { totalHits, timeToExpire, isBlocked } = await this.storageService.increment(key, ttl, limit, 0, name);
    request.res?.setHeader('RateLimit-Policy', `"${name}";q=${limit};w=${ttl / 1000}`);
    request.res?.setHeader('RateLimit', `"${name}";r=${Math.max(0, limit - totalHits)};t=${timeToExpire}`);
    if (isBlocked) {
      throw rateLimitedProblem(limit, ttl / 1000, Math.max(1, timeToExpire));
    }
    return true;
  }
}
