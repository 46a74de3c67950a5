import { type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import type { Request } from 'express';
import { SERVICE_NAME } from '../config/configuration.js';
import { defineProblemType } from '../http/problem-type.js';
import { Problem } from '../http/problem.js';
import { currentSpan, traced } from '../tracing/traced.js';
import { BearerStrategy } from './bearer.strategy.js';
import type { RefusalReason } from './principal.js';
import { TOKEN_POLICY, type TokenPolicy } from './token-policy.decorator.js';

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

const WITHOUT_CREDENTIAL = unauthorizedWith(challenge());
const INVALID = unauthorizedWith(challenge({ error: 'invalid_token' }));

/** The problem for a refused request, which says no more of the reason than RFC 6750 does. */
export function unauthorizedProblem(reason: RefusalReason = 'missing'): Problem {
  return reason === 'missing' ? WITHOUT_CREDENTIAL : INVALID;
}

function unauthorizedWith(value: string): Problem {
  return new Problem(unauthorized, 'A valid bearer token is required.', { headers: { 'WWW-Authenticate': value } });
}

/** Refuses requests without a valid bearer token, except on routes with `@Public()`. Runs before the body is read. */
@Injectable()
export class BearerAuthGuard extends AuthGuard() {
  constructor(
    private readonly strategy: BearerStrategy,
    private readonly routes: Reflector,
  ) {
    super({ defaultStrategy: strategy.name });
  }

  override canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const policy: TokenPolicy | undefined = this.routes.getAllAndOverride(TOKEN_POLICY, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (policy === 'public') {
      return true;
    }
    const request = context.getArgByIndex<Request>(0);
    return currentSpan() ? this.trace(request, context) : this.authenticate(request, context);
  }

  override handleRequest<User>(error: unknown, user: User | false, _challenge: unknown, context: ExecutionContext): User {
    if (error) {
      throw Error.isError(error) ? error : new Error('Authentication failed.', { cause: error });
    }
    if (!user) {
      throw unauthorizedProblem(context.getArgByIndex<Request>(0).refusal?.reason);
    }
    return user;
  }

  /** Passport is used only where something has to be looked up. */
  private authenticate(request: Request, context: ExecutionContext): boolean | Promise<boolean> {
    const user = this.strategy.decide(request);
    if (user === undefined) {
      return super.canActivate(context) as Promise<boolean>;
    }
    request.user = this.handleRequest(undefined, user, undefined, context);
    return true;
  }

  private trace(request: Request, context: ExecutionContext): Promise<boolean> {
    return traced('authenticate', async (span) => {
      try {
        return await this.authenticate(request, context);
      } finally {
        span.setAttributes({
          'enduser.id': request.user?.id,
          'items.authentication.kind': this.strategy.kindOf(request),
          'items.authentication.refusal': request.refusal?.reason,
        });
      }
    });
  }
}
