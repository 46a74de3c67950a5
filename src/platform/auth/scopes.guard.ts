import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { defineProblemType } from '../http/problem-types.js';
import { Problem } from '../http/problem.js';
import { challenge } from './bearer-auth.guard.js';
import { requiredPolicy } from './token-policy.decorator.js';

const insufficientScope = defineProblemType({
  name: 'insufficient-scope',
  status: 403,
  title: 'Insufficient scope',
  remedy:
    'The token lacks a scope that this operation needs; `WWW-Authenticate` lists them. Use a token with these scopes: the operator issues one.',
});

/** @param scopes - required by the operation */
export function insufficientScopeProblem(scopes: readonly string[]): Problem {
  return new Problem(insufficientScope, `The token lacks a scope: this operation needs ${scopes.join(' and ')}.`, {
    headers: { 'WWW-Authenticate': challenge({ error: 'insufficient_scope', scope: scopes.join(' ') }) },
  });
}

/** Checks the token's scopes. Runs after the rate limit, so that requests refused here count. */
@Injectable()
export class ScopesGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const granted = context.getArgByIndex<Request>(0).user?.scopes ?? [];
    if (granted === 'all') {
      return true;
    }
    const policy = requiredPolicy(this.reflector, context);
    if (policy !== 'public' && !policy.every((scope) => granted.includes(scope))) {
      throw insufficientScopeProblem(policy);
    }
    return true;
  }
}
