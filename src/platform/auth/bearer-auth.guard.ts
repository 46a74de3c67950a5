import { type ExecutionContext, Injectable } from '@nestjs/common';
import { AuthGuard } from '@nestjs/passport';
import type { Request } from 'express';
import { defineProblemType } from '../problems/problem-types.js';
import { Problem } from '../problems/problem.js';
import { OperatorError } from '../errors/operator-error.js';
import { Metrics } from '../observability/metrics.js';
import { SERVICE_NAME } from '../service/service.js';
import { currentSpan } from '../tracing/tracing.js';
import { BearerStrategy } from './bearer.strategy.js';
import { clientAddress } from '../requests/client-address.js';
import { type Principal, REFUSAL_REASONS, type RefusalReason, type Verdict } from './principal.js';
import { challenge, messagePolicyFaults, tokenPolicyOf } from './scopes.guard.js';

const unauthorized = defineProblemType({
  name: 'unauthorized',
  status: 401,
  title: 'Missing or invalid token',
  remedy:
    'Send a valid access token: `Authorization: Bearer <token>`. The token is missing, mistyped, expired or revoked; ' +
    'the operator issues new ones. After many failures from your network, a valid token can be refused as well: wait ' +
    'a second before you retry once.',
});

/** The 401 problem. It reveals no more about the reason than RFC 6750 does. */
export function unauthorizedProblem(reason: RefusalReason = 'missing'): Problem {
  const headers = { 'WWW-Authenticate': challenge(reason === 'missing' ? {} : { error: 'invalid_token' }) };
  return new Problem(unauthorized, 'A valid bearer token is required.', { headers });
}

/** Rejects requests without a valid bearer token, except on `@Public()` routes. Runs before the body is read. */
@Injectable()
export class BearerAuthGuard extends AuthGuard() {
  private readonly refusals;
  private readonly successes;

  constructor(
    private readonly strategy: BearerStrategy,
    metrics: Metrics,
  ) {
    super({ defaultStrategy: strategy.name });
    this.refusals = metrics.counter({
      name: 'authentication_refusals_total',
      help: 'Requests rejected with 401, by the reason that is also in the log',
      labels: { reason: REFUSAL_REASONS },
    });
    this.successes = metrics.counter({
      name: 'authentications_total',
      help: 'Authenticated requests, by kind of credential',
      labels: { kind: ['token', 'jwt'] },
    });
  }

  override canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.getArgByIndex<Request>(0);
    const policy = tokenPolicyOf({ controller: context.getClass(), handler: context.getHandler() });
    // A policy without a scope is that of the controller that passes requests on to libraries.
    if (policy === 'public' || (request.isOnPublicPath && policy?.length === 0)) {
      return true;
    }
    if (context.getType() !== 'http') {
      // A message has no token. The start rejects handlers of Nest's packages already, but does not know other kinds.
      const [controller, handler] = [context.getClass(), context.getHandler()];
      throw new OperatorError(messagePolicyFaults({ controller, handler, name: handler.name }).join());
    }
    const verdict = this.strategy.immediateVerdict(request);
    if (!verdict) {
      return super.canActivate(context) as Promise<boolean>;
    }
    request.user = this.requirePrincipal(request, verdict);
    return true;
  }

  /** Receives the strategy's verdict from Passport, or the error of the look-up. */
  override handleRequest<User>(error: Error | null, user: User, _info: unknown, context: ExecutionContext): User {
    if (error) {
      throw error;
    }
    return this.requirePrincipal(context.getArgByIndex(0), user as Verdict) as User;
  }

  /** @throws Problem if the credential was refused */
  requirePrincipal(request: Request, verdict: Verdict): Principal {
    if ('refused' in verdict) {
      const { refused: reason, tokenId } = verdict;
      request.refusal = { reason, tokenId, address: clientAddress(request) };
      this.refusals.inc({ reason });
      currentSpan()?.setAttributes({ [`${SERVICE_NAME}.authentication.refusal`]: reason });
      throw unauthorizedProblem(reason);
    }
    request.isVerified = true;
    this.successes.inc({ kind: verdict.principal.subject === undefined ? 'token' : 'jwt' });
    return verdict.principal;
  }
}
