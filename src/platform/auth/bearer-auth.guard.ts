import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { SERVICE_NAME } from '../config/configuration.js';
import { defineProblemType } from '../http/problem-type.js';
import { Problem } from '../http/problem.js';
import { Metrics } from '../observability/metrics.js';
import { currentSpan } from '../tracing/traced.js';
import { Authenticator } from './authenticator.js';
import { clientAddress } from './failure-budget.js';
import { REFUSAL_REASONS, type RefusalReason, type Verdict } from './principal.js';
import { requiredPolicy } from './token-policy.decorator.js';

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

const MISSING = { headers: { 'WWW-Authenticate': challenge() } };
const INVALID = { headers: { 'WWW-Authenticate': challenge({ error: 'invalid_token' }) } };

/** The problem for a refused request, which says no more of the reason than RFC 6750 does. */
export function unauthorizedProblem(reason: RefusalReason = 'missing'): Problem {
  return new Problem(unauthorized, 'A valid bearer token is required.', reason === 'missing' ? MISSING : INVALID);
}

/** Refuses requests without a valid bearer token, except on routes with `@Public()`. Runs before the body is read. */
@Injectable()
export class BearerAuthGuard implements CanActivate {
  private readonly refusals;
  private readonly successes;

  constructor(
    private readonly authenticator: Authenticator,
    private readonly reflector: Reflector,
    metrics: Metrics,
  ) {
    this.refusals = metrics.counter({
      name: 'items_authentication_refusals_total',
      help: 'Requests answered 401, by the reason that the log tells as well',
      labels: { reason: REFUSAL_REASONS },
    });
    this.successes = metrics.counter({
      name: 'items_authentications_total',
      help: 'Requests let in, by what they came with',
      labels: { kind: ['token', 'jwt'] },
    });
  }

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (requiredPolicy(this.reflector, context) === 'public') {
      return true;
    }
    const request = context.getArgByIndex<Request>(0);
    const verdict = this.authenticator.authenticate(request);
    return verdict instanceof Promise ? verdict.then((result) => this.settle(request, result)) : this.settle(request, verdict);
  }

  private settle(request: Request, verdict: Verdict): true {
    if ('principal' in verdict) {
      request.user = verdict.principal;
      this.successes.inc({ kind: verdict.principal.subject === undefined ? 'token' : 'jwt' });
      return true;
    }
    const { refused: reason, tokenId } = verdict;
    request.refusal = { reason, tokenId, address: clientAddress(request) };
    this.refusals.inc({ reason });
    currentSpan()?.setAttributes({ 'items.authentication.refusal': reason });
    throw unauthorizedProblem(reason);
  }
}
