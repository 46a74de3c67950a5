import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { defineProblemType } from '../http/problem-type.js';
import { Problem } from '../http/problem.js';
import { challenge } from './bearer-auth.guard.js';
import { TOKEN_POLICY, type TokenPolicy } from './token-policy.decorator.js';

/** The token is valid, and not meant for this. */
const insufficientScope = defineProblemType({
  name: 'insufficient-scope',
  status: 403,
  title: 'Insufficient scope',
  remedy:
    'The token is restricted to scopes that this operation is not part of; `WWW-Authenticate` names what it needs. Use another token, or ask the operator of the service for one with these scopes.',
});

/** @param scopes - that the operation needs */
export function insufficientScopeProblem(scopes: readonly string[]): Problem {
  return new Problem(insufficientScope, `The token lacks a scope: this needs ${scopes.join(' and ')}.`, {
    headers: { 'WWW-Authenticate': challenge({ error: 'insufficient_scope', scope: scopes.join(' ') }) },
  });
}

/** Keeps tokens that are restricted to scopes to them. Comes after the rate limit: what it refuses counts. */
@Injectable()
export class ScopesGuard implements CanActivate {
  constructor(private readonly routes: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const { user } = context.getArgByIndex<Request>(0);
    const policy: TokenPolicy | undefined = this.routes.getAllAndOverride(TOKEN_POLICY, [
      context.getHandler(),
      context.getClass(),
    ]);
    const required = policy === 'public' ? [] : (policy ?? []);
    const granted = user?.scopes ?? [];
    if (granted !== 'all' && !required.every((scope) => granted.includes(scope))) {
      throw insufficientScopeProblem(required);
    }
    return true;
  }
}
