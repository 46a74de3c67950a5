import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { MigrationsModule } from '../database/migrations.js';
import { AccessToken } from './access-token.entity.js';
import { AccessTokensService } from './access-tokens.service.js';
import { Authenticator } from './authenticator.js';
import { BearerAuthGuard } from './bearer-auth.guard.js';
import { BearerStrategy } from './bearer.strategy.js';
import { StaticTokens } from './static/static-tokens.js';
import { JwtVerifier } from './jwt/jwt-verifier.js';
import { CreateAccessTokens1767225600000 } from './migrations/1767225600000-create-access-tokens.js';
import { AddTokenScopes1767225600005 } from './migrations/1767225600005-add-token-scopes.js';
import { AddTokenRotation1767225600006 } from './migrations/1767225600006-add-token-rotation.js';
import { AddTokenLimit1767225600007 } from './migrations/1767225600007-add-token-limit.js';

/** Authentication with access tokens, static tokens and JWTs. */
@Module({
  imports: [
    TypeOrmModule.forFeature([AccessToken]),
    MigrationsModule.forFeature([
      CreateAccessTokens1767225600000,
      AddTokenScopes1767225600005,
      AddTokenRotation1767225600006,
      AddTokenLimit1767225600007,
    ]),
  ],
  providers: [AccessTokensService, StaticTokens, JwtVerifier, BearerStrategy, BearerAuthGuard, Authenticator],
  exports: [AccessTokensService, StaticTokens, JwtVerifier, BearerStrategy, BearerAuthGuard, Authenticator],
})
export class AuthModule {}
