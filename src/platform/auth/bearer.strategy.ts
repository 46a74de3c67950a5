import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import passport from 'passport';
import { Strategy } from 'passport-http-bearer';
import { SERVICE_NAME } from '../config/service-name.js';
import type { EventCounter } from '../observability/event-counter.js';
import { Metrics } from '../observability/metrics.js';
import { clientAddress } from './client-address.js';
import type { Principal } from './principal.js';
import { TokenAuthenticator } from './token-authenticator.js';
import { REFUSAL_REASONS, type RefusalReason, type Refused } from './verdict.js';

declare global {
  // Express' own hook for properties that middleware adds.
  namespace Express {
    interface Request {
      /** Why it was not let in, for the log. */
      refusal?: Refusal;
    }
  }
}

/** Why a request was not let in, whose token it came with, if that is known, and from where. */
interface Refusal {
  readonly reason: RefusalReason;
  readonly tokenId: string | undefined;
  readonly address: string;
}

/** What the library is shown of a request. */
interface Shown {
  readonly headers: { readonly authorization: string | undefined };
  readonly request: Request;
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

  /** Shows the library one well-formed header or none: by itself it also takes tokens from the query and the body. */
  override authenticate(request: Request): void {
    const authorization = bearerCredential(request);
    if (authorization === undefined) {
      this.refuse(request, { refused: 'missing' });
    }
    const shown: Shown = { headers: { authorization }, request };
    super.authenticate(shown as unknown as Request);
  }

  async validate({ request }: Shown, token: string): Promise<Principal | false> {
    const verdict = await this.authenticator.authenticate(token, clientAddress(request));
    if ('principal' in verdict) {
      this.successes.inc({ kind: verdict.principal.subject === undefined ? 'token' : 'jwt' });
      return verdict.principal;
    }
    this.refuse(request, verdict);
    return false;
  }

  private refuse(request: Request, { refused: reason, tokenId }: Refused): void {
    request.refusal = { reason, tokenId, address: clientAddress(request) };
    this.refusals.inc({ reason });
  }
}

/**
 * The credential, in the one spelling that the library knows. Malformed ones are passed on as a token that cannot exist,
 * so that they are challenged as an invalid token.
 */
function bearerCredential({ headersDistinct }: Request): string | undefined {
  const credentials = headersDistinct['authorization'] ?? [];
  const [credential = ''] = credentials;
  if (!credentials.some((value) => /^bearer +\S/i.test(value))) {
    return undefined;
  }
  const token = credentials.length === 1 ? /^bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(credential)?.[1] : undefined;
  return `Bearer ${token ?? 'malformed'}`;
}
