import { All, Controller, Req, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request } from 'express';
import { RequireScopes } from '../auth/token-policy.decorator.js';
import { allowedMethods } from './allowed-methods.js';
import { methodNotAllowed, notFound } from './http-problem-types.js';
import { Problem } from './problem.js';
import { AnyQuery } from '../validation/any-query.decorator.js';

/**
 * Where requests end that no other route takes. Being a route, it is guarded like one: without a token a stranger learns
 * nothing about which paths exist, and with one the request counts.
 */
@RequireScopes()
@AnyQuery()
@ApiExcludeController()
@Controller({ version: VERSION_NEUTRAL })
export class FallbackController {
  @All('{*path}')
  refuse(@Req() request: Request): never {
    const methods = allowedMethods(request);
    if (methods.length === 0) {
      throw new Problem(notFound, `Nothing is at ${request.path}.`);
    }
    throw new Problem(methodNotAllowed, `${request.path} can be called with ${methods.join(', ')}.`, {
      headers: { Allow: methods.join(', ') },
    });
  }
}
