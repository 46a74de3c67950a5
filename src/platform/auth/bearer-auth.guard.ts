import { type ExecutionContext, Injectable } from '@nestjs/common';
import { AuthGuard } from '@nestjs/passport';
import type { Request } from 'express';
import { SERVICE_NAME } from '../config/configuration.js';
import { defineProblemType } from '../http/problem-type.js';
import { Problem } from '../http/problem.js';
import { currentSpan, traced } from '../tracing/traced.js';
import { BearerStrategy } from './bearer.strategy.js';
import type { RefusalReason } from './principal.js';
import { tokenPolicyOf } from './token-policy.decorator.js';

/** The header `WWW-Authenticate` of a refusal (RFC 6750, section 3). */
export function challenge(parameters: { error?: 'invalid_token' | 'insufficient_scope'; scope?: string } = {}): string {
  const fields = Object.entries({ realm: SERVICE_NAME, ...parameters }).map(([name, value]) => `${name}="${value}"`);
  return `Bearer ${fields.join(', ')}`;
}

/** The token is absent or not valid. */
const unauthorized = defineProblemType({
  name: 'unauthorized',
  status: 401,
  title: 'Missing or invalid token',
  remedy:
    'Send a valid access token in the header `Authorization: Bearer <token>`. A token that was mistyped, has expired or was revoked is not valid; the operator of the service issues new ones.',
});

/** The problem for a refused request, which says no more of the reason than RFC 6750 does. */
export function unauthorizedProblem(reason: RefusalReason = 'missing'): Problem {
  const value = challenge(reason === 'missing' ? {} : { error: 'invalid_token' });
  return new Problem(unauthorized, 'A valid bearer token is required.', { headers: { 'WWW-Authenticate': value } });
}

/** Refuses requests without a valid bearer token, except on routes with `@Public()`. Runs before the body is read. */
@Injectable()
export class BearerAuthGuard extends AuthGuard() {
  constructor(private readonly strategy: BearerStrategy) {
    super({ defaultStrategy: strategy.name });
  }

  override canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (tokenPolicyOf({ controller: context.getClass(), handler: context.getHandler() }) === 'public') {
      return true;
    }
    const request = context.getArgByIndex<Request>(0);
    const user = this.strategy.decide(request);
    if (user === undefined) {
      return traced('authenticate', () => super.canActivate(context) as Promise<boolean>);
    }
    request.user = this.handleRequest(undefined, user, undefined, context);
    return true;
  }

  override handleRequest<User>(error: Error | undefined, user: User | false, _info: unknown, context: ExecutionContext): User {
    if (error) {
      throw error;
    }
    if (!user) {
      const reason = context.getArgByIndex<Request>(0).refusal?.reason;
      currentSpan()?.setAttributes({ 'items.authentication.refusal': reason });
      throw unauthorizedProblem(reason);
    }
    return user;
  }
}
