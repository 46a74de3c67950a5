import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import { Repository } from 'typeorm';
import { ACCESS_TOKENS } from '../database.js';
import type { AccessToken } from './access-token.entity.js';

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
