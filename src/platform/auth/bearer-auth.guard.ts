import { type ExecutionContext, Injectable } from '@nestjs/common';
import { AuthGuard } from '@nestjs/passport';
import type { Request } from 'express';
import { definePlatformProblemType } from '../http/problem-type.js';
import { Problem } from '../http/problem.js';
import { routeOf } from '../routes/route.js';
import { traced } from '../tracing/traced.js';
import { BearerStrategy } from './bearer.strategy.js';
import { tokenPolicyOf } from './token-policy.decorator.js';

/** The token is absent or not valid. */
const unauthorized = definePlatformProblemType({
  name: 'unauthorized',
  status: 401,
  title: 'Missing or invalid token',
  remedy:
    'Send a valid access token in the header `Authorization: Bearer <token>`. A token that was mistyped, has expired or was revoked is not valid; the operator of the service issues new ones.',
});

/** @param challenge - value of `WWW-Authenticate`, which the answer must carry (RFC 6750, section 3) */
export function unauthorizedProblem(challenge: string): Problem {
  return new Problem(unauthorized, 'A valid bearer token is required.', { headers: { 'WWW-Authenticate': challenge } });
}

/** Lets nobody in without a valid bearer token, except where a route is `@Public()`. Runs before the body is read. */
@Injectable()
export class BearerAuthGuard extends AuthGuard() {
  constructor(strategy: BearerStrategy) {
    super({ defaultStrategy: strategy.name });
  }

  override async canActivate(context: ExecutionContext): Promise<boolean> {
    return tokenPolicyOf(routeOf(context)) === 'public' || this.authenticate(context);
  }

  private authenticate(context: ExecutionContext): Promise<boolean> {
    return traced('authenticate', async (span) => {
      const request = context.switchToHttp().getRequest<Request>();
      try {
        return (await super.canActivate(context)) === true;
      } finally {
        span.set({ 'enduser.id': request.user?.id, 'items.authentication.refusal': request.refusal?.reason });
      }
    });
  }

  /** Passport hands over the challenge that the strategy made. */
  override handleRequest<User>(error: unknown, user: User | false, challenge: unknown): User {
    if (error) {
      throw Error.isError(error) ? error : new Error('Authentication failed.', { cause: error });
    }
    if (!user) {
      throw unauthorizedProblem(String(challenge));
    }
    return user;
  }
}
