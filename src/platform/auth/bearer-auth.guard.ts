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

/**
 * The header `WWW-Authenticate` of a refusal (RFC 6750, section 3).
 *
 * @param parameters - nothing where there was no credential; `scope` is what the operation needs, separated by spaces
 */
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

/** @param reason - why a request is not let in, of which clients are told no more than RFC 6750 says */
export function unauthorizedProblem(reason: RefusalReason = 'missing'): Problem {
  return reason === 'missing' ? WITHOUT_CREDENTIAL : INVALID;
}

function unauthorizedWith(value: string): Problem {
  return new Problem(unauthorized, 'A valid bearer token is required.', { headers: { 'WWW-Authenticate': value } });
}

/** Refuses requests without a valid bearer token, except on routes with `@Public()`. Runs before the body is read. */
@Injectable()
export class BearerAuthGuard extends AuthGuard() {
  constructor(private readonly strategy: BearerStrategy) {
    super({ defaultStrategy: strategy.name });
  }

  override canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const route = { controller: context.getClass(), handler: context.getHandler() };
    return tokenPolicyOf(route) === 'public' || this.decide(context) || this.authenticate(context);
  }

  /**
   * The short way, where nothing has to be looked up. A trace shows the whole.
   *
   * @returns false if something has to
   */
  private decide(context: ExecutionContext): boolean {
    const request = context.getArgByIndex<Request>(0);
    const user = currentSpan() ? undefined : this.strategy.decide(request);
    if (user === undefined) {
      return false;
    }
    request.user = letIn(request, user);
    return true;
  }

  private authenticate(context: ExecutionContext): Promise<boolean> {
    return traced('authenticate', async (span) => {
      const request = context.switchToHttp().getRequest<Request>();
      try {
        return (await super.canActivate(context)) === true;
      } finally {
        span.setAttributes({ 'enduser.id': request.user?.id, 'items.authentication.refusal': request.refusal?.reason });
      }
    });
  }

  override handleRequest<User>(error: unknown, user: User | false, _challenge: unknown, context: ExecutionContext): User {
    if (error) {
      throw Error.isError(error) ? error : new Error('Authentication failed.', { cause: error });
    }
    return letIn(context.getArgByIndex<Request>(0), user);
  }
}

function letIn<User>(request: Request, user: User | false): User {
  if (!user) {
    throw unauthorizedProblem(request.refusal?.reason);
  }
  return user;
}
