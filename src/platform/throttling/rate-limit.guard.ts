import { type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ThrottlerGuard, type ThrottlerRequest } from '@nestjs/throttler';
import type { Request } from 'express';
import { Configuration } from '../config/configuration.js';
import { defineProblemType } from '../problems/problem-types.js';
import { Problem } from '../problems/problem.js';

export const rateLimited = defineProblemType({
  name: 'rate-limited',
  status: 429,
  title: 'Rate limited',
  remedy:
    'The token has reached its request limit, or its slow filters have used up their time: `detail` says which. Wait ' +
    'for the number of seconds in the `Retry-After` header, then send the request again. Requests beyond the ' +
    'limit do not count. The `RateLimit` header of every authenticated response contains the number of requests left.',
});

/** @param window - in seconds, as is `retryAfter` */
export function rateLimitedProblem(limit: number, window: number, retryAfter: number): Problem {
  const detail = `The token has reached its limit of ${limit} requests in ${window} seconds. Retry in ${retryAfter} s.`;
  return new Problem(rateLimited, detail, { headers: { 'Retry-After': String(retryAfter) } });
}

/**
 * Limits each token over all HTTP routes, to its own limit or `RATE_LIMIT`. In the headers
 * (draft-ietf-httpapi-ratelimit-headers-10): `r` requests left, `t` seconds until a slot is free.
 */
@Injectable()
export class RateLimitGuard extends ThrottlerGuard {
  @Inject(Configuration) declare private readonly configuration: Configuration;

  protected override shouldSkip(context: ExecutionContext): Promise<boolean> {
    return Promise.resolve(context.getType() !== 'http' || !context.getArgByIndex<Request>(0).isVerified);
  }

  /**
   * A route with `@Throttle()` has an additional limit per token: its requests count for both limits. Without it, `limit`
   * and `ttl` are those of {@link throttlerOptions}.
   */
  protected override async handleRequest({ context, limit, ttl, throttler }: ThrottlerRequest): Promise<boolean> {
    const request = context.getArgByIndex<Request>(0);
    const { RATE_LIMIT } = this.configuration;
    const { id: token = '', rateLimit = RATE_LIMIT } = request.user ?? {};
    if (limit !== throttler.limit || ttl !== throttler.ttl) {
      const route = `${context.getClass().name}.${context.getHandler().name}`;
      await this.count(request, `${token} ${route}`, 'route', Number.isFinite(limit) ? limit : RATE_LIMIT, ttl);
    }
    return this.count(request, token, 'default', rateLimit, Number(throttler.ttl));
  }

  private async count(request: Request, key: string, name: string, limit: number, ttl: number): Promise<true> {
    const { totalHits, timeToExpire, isBlocked } = await this.storageService.increment(key, ttl, limit, 0, name);
    request.res?.setHeader('RateLimit-Policy', `"${name}";q=${limit};w=${ttl / 1000}`);
    request.res?.setHeader('RateLimit', `"${name}";r=${limit - totalHits};t=${timeToExpire}`);
    if (isBlocked) {
      throw rateLimitedProblem(limit, ttl / 1000, Math.max(1, timeToExpire));
    }
    return true;
  }
}

/** Caches metadata: Nest's throttler guard reads six kinds per request, which makes a first page 1.3 times as expensive. */
export class CachingReflector extends Reflector {
  private readonly valuesByTarget = new WeakMap<object, Map<unknown, unknown>>();

  override get(key: unknown, target: Parameters<Reflector['get']>[1]): never {
    const values = this.valuesByTarget.getOrInsertComputed(target, () => new Map());
    return values.getOrInsertComputed(key, () => super.get(key, target)) as never;
  }
}
