import type { IncomingMessage } from 'node:http';
import { Injectable, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Express, Request } from 'express';
import { asProblem } from '../database/as-problem.js';
import type { Problem } from '../problems/problem.js';
import { BearerAuthGuard } from './bearer-auth.guard.js';
import { BearerStrategy } from './bearer.strategy.js';
import type { Principal } from './principal.js';
import { checkScopes } from './scopes.guard.js';

/** Verifies the token of a request that reaches no route, such as the handshake of a WebSocket. */
@Injectable()
export class Authenticator {
  private readonly logger = new Logger('Authenticator');

  constructor(
    private readonly strategy: BearerStrategy,
    private readonly guard: BearerAuthGuard,
    private readonly host: HttpAdapterHost,
  ) {}

  /**
   * Verifies the `Authorization` header of a handshake like that of a request: failures count for the budget of its address.
   *
   * @param scopes - that the token must have
   * @returns the caller, which also becomes the `user` of the handshake
   * @throws Problem and nothing else: 401, 403, 500, or 503 while the database is unavailable
   */
  async verify(handshake: IncomingMessage, ...scopes: string[]): Promise<Principal> {
    // Express does so with each request, which thereby has an `ip` by `TRUSTED_PROXIES`.
    const request = Object.setPrototypeOf(handshake, this.host.httpAdapter.getInstance<Express>().request) as Request;
    let problem: Problem | undefined;
    try {
      const principal = this.guard.requirePrincipal(request, await this.strategy.verify(request));
      request.user = principal;
      checkScopes(principal, scopes);
      return principal;
    } catch (error) {
      problem = asProblem(error);
      throw problem;
    } finally {
      const { user, refusal } = request;
      const outcome = { refusal, problem: problem?.type.name, err: problem?.cause };
      this.logger.log({ msg: 'handshake', principalId: user?.id, subject: user?.subject, ...outcome });
    }
  }
}
