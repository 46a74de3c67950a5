import { type ExecutionContext, Injectable } from '@nestjs/common';
import { ThrottlerGuard, type ThrottlerRequest } from '@nestjs/throttler';
import type { Request } from 'express';
import { defineProblemType } from '../http/problem-type.js';
import { Problem } from '../http/problem.js';

/** The token made too many requests. */
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
    return Promise.resolve(requestOf(context).user === undefined);
  }

  protected override async handleRequest({ context, limit, ttl, blockDuration, throttler }: ThrottlerRequest): Promise<boolean> {
    const request = requestOf(context);
    const key = request.user?.id ?? '';
    const name = throttler.name ?? 'default';
    const state = await this.storageService.increment(key, ttl, limit, blockDuration, name);
    const reset = state.isBlocked ? state.timeToBlockExpire : state.timeToExpire;
    const remaining = Math.max(0, limit - state.totalHits);
    request.res?.setHeader('RateLimit-Policy', `"${name}";q=${limit};w=${ttl / 1000}`);
    request.res?.setHeader('RateLimit', `"${name}";r=${remaining};t=${reset}`);
    if (state.isBlocked) {
      throw rateLimitedProblem(limit, ttl / 1000, Math.max(1, reset));
    }
    return true;
  }
}

function requestOf(context: ExecutionContext): Request {
  return context.getArgByIndex<Request>(0);
}
