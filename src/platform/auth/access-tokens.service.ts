import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Repository } from 'typeorm';
import { OperatorError } from '../config/operator-error.js';
import { Database } from '../database/database.js';
import { newId } from '../database/id.js';
import { dateIn } from '../time/duration.js';
import { AccessToken, endOf } from './access-token.entity.js';
import { type Attribution, AuditLog } from './audit-log.js';
import { digestOf, generateToken, lastFourOf } from './token-format.js';

/** What a token is to be. */
export interface NewToken {
  /** For people, to tell tokens apart; need not be unique. */
  name: string;
  /** From then on the token is refused; without it, never. */
  expiresAt?: Date | null;
  /** What it is restricted to; without them, nothing. */
  scopes?: string[] | null;
}

/** What the token that takes another one's place is to be. */
export interface Rotation {
  /** How long the old one goes on working, in milliseconds; not longer than it would have. */
  overlap: number;
  /** How long the new one is valid, in milliseconds, `Infinity` for ever; by default as long as the old one was meant to be. */
  lifetime?: number | undefined;
}

/** The life of access tokens: issued, looked up, listed, rotated, revoked. */
@Injectable()
export class AccessTokensService {
  constructor(
    @InjectRepository(AccessToken) private readonly tokens: Repository<AccessToken>,
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  /**
   * Issues a token.
   *
   * @returns the token: this is the only time that anybody sees it
   */
  async issue({ name, expiresAt = null, scopes = null }: NewToken, by: Attribution): Promise<string> {
    const { token, row } = newToken({ name, expiresAt, scopes, familyId: null });
    await this.tokens.insert(row);
    this.audit.write('token.issued', by, describe(row));
    return token;
  }

  /**
   * Issues a token that takes the place of another: it has its name and scopes, and its `Idempotency-Key`s are known to it. The
   * old one goes on working for a while, so that its users can change over.
   *
   * @returns the new token
   * @throws OperatorError when the old one is unknown, of no use any more, or replaced already
   */
  async rotate(id: string, { overlap, lifetime }: Rotation, by: Attribution): Promise<string> {
    const { token, row, replacedExpiresAt } = await this.database.transaction(async () => {
      const old = replaceable(id, await this.tokens.findOne({ where: { id }, lock: { mode: 'pessimistic_write' } }));
      const now = Date.now();
      const { name, scopes, familyId } = old;
      const replacement = newToken({
        name,
        scopes,
        expiresAt: dateIn(lifetime ?? lifetimeOf(old), now),
        familyId: familyId ?? id,
      });
      const end = new Date(Math.min(now + overlap, old.expiresAt?.getTime() ?? Infinity));
      await this.tokens.insert(replacement.row);
      await this.tokens.update({ id }, { replacedBy: replacement.row.id, expiresAt: end });
      return { ...replacement, replacedExpiresAt: end };
    });
    this.audit.write('token.rotated', by, { ...describe(row), replaces: id, replacedExpiresAt });
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
   * @param which - its id or its digest
   * @returns false when there is no such token, or it is revoked already
   */
  async revoke(which: { id: string } | { digest: Buffer }, by: Attribution): Promise<boolean> {
    const token = await this.tokens.findOneBy(which);
    if (!token) {
      return false;
    }
    const { affected } = await this.tokens.update({ id: token.id, revokedAt: IsNull() }, { revokedAt: new Date() });
    if (affected === 1) {
      this.audit.write('token.revoked', by, describe(token));
    }
    return affected === 1;
  }

  /**
   * The token with that digest, of use or not.
   *
   * @param digest - from `digestOf`
   */
  find(digest: Buffer): Promise<AccessToken | null> {
    return this.tokens.findOneBy({ digest });
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
}

function newToken(given: Pick<AccessToken, 'name' | 'expiresAt' | 'scopes' | 'familyId'>) {
  const token = generateToken();
  const row = { ...given, id: newId(), digest: digestOf(token), lastFour: lastFourOf(token), createdAt: new Date() };
  return { token, row };
}

/** @throws OperatorError when there is no token that another may take the place of */
function replaceable(id: string, token: AccessToken | null): AccessToken {
  if (!token) {
    throw new OperatorError(`No token has the id ${id}. See \`token list\`.`);
  }
  if (token.replacedBy !== null) {
    throw new OperatorError(
      `The token ${id} was rotated already, into ${token.replacedBy}. If that one was lost, rotate it in turn, with --overlap 0h.`,
    );
  }
  const end = endOf(token);
  if (end) {
    throw new OperatorError(`The token ${id} is ${end}: issue a new one.`);
  }
  return token;
}

function lifetimeOf({ expiresAt, createdAt }: AccessToken): number {
  return expiresAt ? expiresAt.getTime() - createdAt.getTime() : Infinity;
}

/** What the audit log tells of a token. */
function describe({ id, name, expiresAt, scopes }: Pick<AccessToken, 'id' | 'name' | 'expiresAt' | 'scopes'>) {
  return { tokenId: id, name, expiresAt, scopes: scopes ?? 'all' };
}
