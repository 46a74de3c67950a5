import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import passport from 'passport';
import { Strategy } from 'passport-http-bearer';
import { SERVICE_NAME } from '../config/service-name.js';
import type { Principal } from './principal.js';
import { TokenAuthenticator } from './token-authenticator.js';

/** `Authorization: Bearer <token>` (RFC 6750, section 2.1), and no other place for a token (RFC 9700, section 4.3.2). */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy) {
  constructor(private readonly authenticator: TokenAuthenticator) {
    super({ realm: SERVICE_NAME });
    // Passport keeps strategies by name for the whole process; applications in one process must not share one.
    this.name = `bearer-${randomUUID()}`;
    passport.use(this);
  }

  /** Shows the library one well-formed header or none: by itself it also takes tokens from the query and the body. */
  override authenticate(request: Request): void {
    super.authenticate({ headers: { authorization: bearerCredential(request) } } as Request);
  }

  async validate(token: string): Promise<Principal | false> {
    return (await this.authenticator.authenticate(token)) ?? false;
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
