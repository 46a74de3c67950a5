import { createHash } from 'node:crypto';
import { type ExecutionContext, HttpException, HttpStatus, Inject, Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { ThrottlerGuard, type ThrottlerRequest } from '@nestjs/throttler';
import type { Request, Response } from 'express';
import { Strategy } from 'passport-http-bearer';
import { Column, Entity, PrimaryColumn, Repository } from 'typeorm';

export const ACCESS_TOKENS = 'AccessTokenRepository';

@Entity('access_tokens')
export class AccessToken {
  @PrimaryColumn('uuid')
  declare id: string;

  /** SHA-256 of the token. */
  @Column('bytea')
  declare digest: Buffer;

  @Column('timestamptz', { name: 'expires_at', nullable: true })
  declare expiresAt: Date | null;

  @Column('timestamptz', { name: 'revoked_at', nullable: true })
  declare revokedAt: Date | null;
}

@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy) {
  constructor(@Inject(ACCESS_TOKENS) private readonly tokens: Repository<AccessToken>) {
    super();
  }

  async validate(token: string): Promise<AccessToken | false> {
    const found = await this.tokens.findOneBy({ digest: createHash('sha256').update(token).digest() });
    return found && !found.revokedAt && (!found.expiresAt || found.expiresAt > new Date()) ? found : false;
  }
}

/** Counts by token, over all routes together, and sends the headers that the specification names. */
@Injectable()
export class TokenThrottlerGuard extends ThrottlerGuard {
  protected override getTracker(request: Request): Promise<string> {
    return Promise.resolve((request.user as unknown as AccessToken).id);
  }

  protected override generateKey(_context: ExecutionContext, tracker: string): string {
    return tracker;
  }

  protected override async handleRequest(props: ThrottlerRequest): Promise<boolean> {
    const { context, limit, ttl, blockDuration, getTracker, generateKey } = props;
    const request = context.switchToHttp().getRequest<Request>();
    const response = context.switchToHttp().getResponse<Response>();
    const key = generateKey(context, await getTracker(request, context), 'default');
    const state = await this.storageService.increment(key, ttl, limit, blockDuration, 'default');
    const { totalHits, timeToExpire, isBlocked, timeToBlockExpire } = state;
    const reset = isBlocked ? timeToBlockExpire : timeToExpire;
    response.setHeader('RateLimit-Policy', `"default";q=${limit};w=${ttl / 1000}`);
    response.setHeader('RateLimit', `"default";r=${Math.max(0, limit - totalHits)};t=${reset}`);
    if (isBlocked) {
      response.setHeader('Retry-After', reset);
      const usedUp = `The token has reached its limit of ${limit} requests in ${ttl / 1000} seconds. Retry in ${reset} s.`;
      throw new HttpException(usedUp, HttpStatus.TOO_MANY_REQUESTS);
    }
    return true;
  }
}
