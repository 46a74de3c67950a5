import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import passport from 'passport';
import { Strategy } from 'passport-http-bearer';
import { SERVICE_NAME } from '../config/configuration.js';
import { type EventCounter, Metrics } from '../observability/metrics.js';
import { clientAddress } from './client-address.js';
import { type Principal, REFUSAL_REASONS, type RefusalReason, type Verdict } from './principal.js';
import { TokenAuthenticator } from './token-authenticator.js';

declare global {
  // Express' own hook for properties that middleware adds.
  namespace Express {
    interface Request {
      /** Why it was not let in, with whose token if that is known, and from where: for the log. */
      refusal?: { readonly reason: RefusalReason; readonly tokenId: string | undefined; readonly address: string };
    }
  }
}

/** `Authorization: Bearer <token>` (RFC 6750, section 2.1), and no other place for a token (RFC 9700, section 4.3.2). */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy) {
  private readonly refusals: EventCounter<{ readonly reason: typeof REFUSAL_REASONS }>;
  private readonly successes: EventCounter<{ readonly kind: readonly ['token', 'jwt'] }>;

  constructor(
    private readonly authenticator: TokenAuthenticator,
    metrics: Metrics,
  ) {
    super({ realm: SERVICE_NAME, passReqToCallback: true });
    // Passport keeps strategies by name for the whole process; applications in one process must not share one.
    this.name = `bearer-${randomUUID()}`;
    passport.use(this);
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

  /** What the credential of a request claims to be. */
  kindOf(request: Request): 'access token' | 'jwt' | undefined {
    return this.authenticator.kindOf(credentialOf(request) ?? '');
  }

  /**
   * The principal of a request, where no look-up is needed: Passport can be left out then.
   *
   * @returns false if it is refused, undefined if a look-up has to decide
   */
  decide(request: Request): Principal | false | undefined {
    const credential = credentialOf(request);
    const verdict = credential === undefined ? MISSING : this.authenticator.judge(credential, () => clientAddress(request));
    return verdict && this.settle(request, verdict);
  }

  /** Shows the library one well-formed header: by itself it also takes tokens from the query and the body. */
  override authenticate(request: Request): void {
    const headers = { authorization: `Bearer ${credentialOf(request)}` };
    super.authenticate({ headers, request } as unknown as Request);
  }

  async validate({ request }: { request: Request }, token: string): Promise<Principal | false> {
    return this.settle(request, await this.authenticator.lookUp(token, clientAddress(request)));
  }

  private settle(request: Request, verdict: Verdict): Principal | false {
    if ('principal' in verdict) {
      this.successes.inc({ kind: verdict.principal.subject === undefined ? 'token' : 'jwt' });
      return verdict.principal;
    }
    const { refused: reason, tokenId } = verdict;
    request.refusal = { reason, tokenId, address: clientAddress(request) };
    this.refusals.inc({ reason });
    return false;
  }
}

const MISSING: Verdict = { refused: 'missing' };

/** What follows `Bearer`. A malformed credential becomes a token that cannot exist, and is challenged as an invalid token. */
function credentialOf(request: Request): string | undefined {
  const credentials = request.headersDistinct['authorization'] ?? [];
  const [credential = ''] = credentials;
  if (!credentials.some((value) => /^bearer +\S/i.test(value))) {
    return undefined;
  }
  const token = credentials.length === 1 ? /^bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(credential)?.[1] : undefined;
  return token ?? 'malformed';
}
