import { type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import type { Request } from 'express';
import { SERVICE_NAME } from '../config/configuration.js';
import { defineProblemType } from '../http/problem-types.js';
import { Problem } from '../http/problem.js';
import { Metrics } from '../observability/metrics.js';
import { currentSpan } from '../tracing/tracing.js';
import { BearerStrategy } from './bearer.strategy.js';
import { clientAddress } from './failure-budget.js';
import { type Admission, type Principal, type Refusal, REFUSAL_REASONS, type RefusalReason, type Verdict } from './principal.js';
import { requiredPolicy } from './token-policy.decorator.js';

/** A `WWW-Authenticate` header value (RFC 6750, section 3). */
export function challenge(parameters: { error?: 'invalid_token' | 'insufficient_scope'; scope?: string } = {}): string {
  const fields = Object.entries({ realm: SERVICE_NAME, ...parameters }).map(([name, value]) => `${name}="${value}"`);
  return `Bearer ${fields.join(', ')}`;
}

const unauthorized = defineProblemType({
  name: 'unauthorized',
  status: 401,
  title: 'Missing or invalid token',
  remedy:
    'Send a valid access token: `Authorization: Bearer <token>`. The token is missing, mistyped, expired or revoked; the operator issues new ones.',
});

const MISSING = { headers: { 'WWW-Authenticate': challenge() } };
const INVALID = { headers: { 'WWW-Authenticate': challenge({ error: 'invalid_token' }) } };

/** The 401 problem. It reveals no more about the reason than RFC 6750 does. */
export function unauthorizedProblem(reason: RefusalReason = 'missing'): Problem {
  return new Problem(unauthorized, 'A valid bearer token is required.', reason === 'missing' ? MISSING : INVALID);
}

/** Rejects requests without a valid bearer token, except on `@Public()` routes. Runs before the body is read. */
@Injectable()
export class BearerAuthGuard extends AuthGuard() {
  private readonly refusals;
  private readonly successes;

  constructor(
    private readonly strategy: BearerStrategy,
    private readonly reflector: Reflector,
    metrics: Metrics,
  ) {
    super({ defaultStrategy: strategy.name });
    this.refusals = metrics.counter({
      name: 'items_authentication_refusals_total',
      help: 'Requests rejected with 401, by the reason that is also in the log',
      labels: { reason: REFUSAL_REASONS },
    });
    this.successes = metrics.counter({
      name: 'items_authentications_total',
      help: 'Authenticated requests, by kind of credential',
      labels: { kind: ['token', 'jwt'] },
    });
  }

  override canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (requiredPolicy(this.reflector, context) === 'public') {
      return true;
    }
    const request = context.getArgByIndex<Request>(0);
    const verdict = this.strategy.judge(request);
    if (!verdict) {
      return super.canActivate(context) as Promise<boolean>;
    }
    if ('refused' in verdict) {
      // `throw` makes V8 locate the source position, which takes a tenth of the time of a 401.
      return Promise.reject(this.refuse(request, verdict));
    }
    request.user = this.admit(verdict);
    return true;
  }

  /** Receives the strategy's verdict from Passport, or the error of the look-up. */
  override handleRequest<User>(error: Error | null, user: User, _info: unknown, context: ExecutionContext): User {
    if (error) {
      throw error;
    }
    const verdict = user as Verdict;
    if ('refused' in verdict) {
      throw this.refuse(context.getArgByIndex(0), verdict);
    }
    return this.admit(verdict) as User;
  }

  private admit({ principal }: Admission): Principal {
    this.successes.inc({ kind: principal.subject === undefined ? 'token' : 'jwt' });
    return principal;
  }

  private refuse(request: Request, { refused: reason, tokenId }: Refusal): Problem {
    request.refusal = { reason, tokenId, address: clientAddress(request) };
    this.refusals.inc({ reason });
    currentSpan()?.setAttributes({ 'items.authentication.refusal': reason });
    return unauthorizedProblem(reason);
  }
}
