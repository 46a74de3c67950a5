import { Injectable } from '@nestjs/common';
import { IsNull, type Repository } from 'typeorm';
import { Database } from '../database/database.js';
import { newId } from '../database/id.js';
import { AccessToken } from './access-token.entity.js';
import { digestOf, generateToken } from './token-format.js';

/** The life of access tokens: issued, looked up, listed, revoked. */
@Injectable()
export class AccessTokensService {
  constructor(private readonly database: Database) {}

  /**
   * Issues a token. This is the only time that anybody sees it.
   *
   * @param name - for people, to tell tokens apart; need not be unique
   * @param expiresAt - from then on the token is refused; without it, never
   * @param scopes - what it is restricted to; without them, nothing
   */
  async issue(name: string, expiresAt: Date | null = null, scopes: string[] | null = null): Promise<string> {
    const token = generateToken();
    await this.tokens.insert({ id: newId(), name, digest: digestOf(token), createdAt: new Date(), expiresAt, scopes });
    return token;
  }

  /** All tokens, oldest first, also those revoked or expired. */
  list(): Promise<AccessToken[]> {
    return this.tokens.find({ order: { id: 'ASC' } });
  }

  /** Whether no token was ever issued. */
  async isEmpty(): Promise<boolean> {
    return !(await this.tokens.exists());
  }

  /**
   * Revokes a token for good.
   *
   * @param id - of the token
   * @returns false when there is none with that id, or it is revoked already
   */
  async revoke(id: string): Promise<boolean> {
    const { affected } = await this.tokens.update({ id, revokedAt: IsNull() }, { revokedAt: new Date() });
    return affected === 1;
  }

  /**
   * The token with that digest, if it is neither revoked nor expired.
   *
   * @param digest - from `digestOf`
   */
  async findUsable(digest: Buffer): Promise<AccessToken | null> {
    const token = await this.tokens.findOneBy({ digest, revokedAt: IsNull() });
    return token && isCurrent(token) ? token : null;
  }

  /**
   * Notes the day on which a token was used, with at most one write a day.
   *
   * @param token - as it was found
   */
  async markUsed(token: AccessToken): Promise<void> {
    const today = new Date().toISOString().slice(0, 10);
    if (token.lastUsedOn !== today) {
      await this.tokens.update({ id: token.id }, { lastUsedOn: today });
    }
  }

  private get tokens(): Repository<AccessToken> {
    return this.database.repository(AccessToken);
  }
}

function isCurrent({ expiresAt }: AccessToken): boolean {
  return expiresAt === null || expiresAt.getTime() > Date.now();
}
