import { Injectable, Logger } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import DataLoader from 'dataloader';
import { IsNull, Repository } from 'typeorm';
import { Configuration, logsInfo } from '../config/configuration.js';
import { OperatorError } from '../config/operator-error.js';
import { Database } from '../database/database.js';
import { newId } from '../database/id.js';
import { hasSessions, runRead } from '../database/run-statement.js';
import { dateIn } from '../time/duration.js';
import { AccessToken, endOf } from './access-token.entity.js';
import { type Attribution, audit } from './audit-log.js';
import type { Verdict } from './principal.js';
import { digestOf, fingerprintOf, generateToken } from './token-format.js';

/** How a token is replaced. Times are in milliseconds. */
export interface Rotation {
  /** How long the old token stays valid. */
  overlap: number;
  /** Lifetime of the new token; `Infinity` if it does not expire. By default, the lifetime of the old token. */
  lifetime?: number | undefined;
}

const FIND = `
  SELECT digest, id, scopes, family_id, expires_at, revoked_at, replaced_by, last_used_on::text
  FROM access_tokens WHERE digest = ANY($1)`;

/** Locks in order, to avoid deadlocks between replicas. `SKIP LOCKED` would make the copies of a Citus reference table differ. */
const NOTE_USE = `
  UPDATE access_tokens SET last_used_on = $2 WHERE id IN (
    SELECT id FROM access_tokens WHERE id = ANY($1) AND last_used_on IS DISTINCT FROM $2 ORDER BY id FOR NO KEY UPDATE)`;

/** Issues, verifies, lists, rotates and revokes access tokens. */
@Injectable()
export class AccessTokensService {
  private readonly logger = new Logger('AccessTokens');
  /** One query for all tokens of one turn of the event loop (ADR 30). */
  private readonly found = new DataLoader((digests: readonly string[]) => this.findAll(digests), {
    cache: false,
    maxBatchSize: 100,
    batchScheduleFn: setImmediate,
  });

  constructor(
    @InjectRepository(AccessToken) private readonly tokens: Repository<AccessToken>,
    private readonly database: Database,
    private readonly configuration: Configuration,
  ) {}

  /**
   * Issues a token, optionally with an expiry and scopes.
   *
   * @returns the token, of which only the digest is stored
   */
  async issue(given: Pick<AccessToken, 'name'> & Partial<AccessToken>, by: Attribution): Promise<string> {
    const { token, row } = newToken(given);
    await this.tokens.insert(row);
    audit('token.issued', by, describe(row));
    return token;
  }

  /** Issues a first token if an embedded database has none, unless `LOG_LEVEL` hides it. */
  async issueFirst(): Promise<string | undefined> {
    const isFirst = logsInfo(this.configuration) && this.database.isEmbedded && (await this.tokens.count()) === 0;
    return isFirst ? this.issue({ name: 'quickstart' }, { actor: 'the service', reason: 'first start' }) : undefined;
  }

  /**
   * Issues a token with the name, scopes and `Idempotency-Key`s of another one, which stays valid during the overlap.
   *
   * @returns the new token
   * @throws OperatorError if the old token is unknown, no longer valid, or replaced already
   */
  async rotate(id: string, { overlap, lifetime }: Rotation, by: Attribution): Promise<string> {
    const { token, row, replacedExpiresAt } = await this.database.transaction(async () => {
      const old = await this.tokens.findOne({ where: { id }, lock: { mode: 'pessimistic_write' } });
      const fault = old?.replacedBy ? `already replaced by ${old.replacedBy}` : old && endOf(old);
      if (!old || fault) {
        throw new OperatorError(
          `The token ${id} is ${fault ?? 'unknown'}. Rotate a token that is in use, see \`token list\`, or issue a new one.`,
        );
      }
      const end = old.expiresAt?.getTime() ?? Infinity;
      const expiresAt = dateIn(lifetime ?? end - old.createdAt.getTime());
      const replacement = newToken({ name: old.name, scopes: old.scopes, expiresAt, familyId: old.familyId ?? id });
      const oldExpiresAt = dateIn(Math.min(overlap, end - Date.now()));
      await this.tokens.insert(replacement.row);
      await this.tokens.update({ id }, { replacedBy: replacement.row.id, expiresAt: oldExpiresAt });
      return { ...replacement, replacedExpiresAt: oldExpiresAt };
    });
    audit('token.rotated', by, { ...describe(row), replaces: id, replacedExpiresAt });
    return token;
  }

  /** All tokens, including revoked and expired ones, oldest first. */
  list(): Promise<AccessToken[]> {
    return this.tokens.find({ order: { id: 'ASC' } });
  }

  /** @throws Error if there is no such token */
  get(which: { id: string } | { digest: Buffer }): Promise<AccessToken> {
    return this.tokens.findOneByOrFail(which);
  }

  /** @returns false if there is no such token, or it is revoked already */
  async revoke(which: { id: string } | { digest: Buffer }, by: Attribution): Promise<boolean> {
    const token = await this.tokens.findOneBy(which);
    const { affected } = await this.tokens.update({ ...which, revokedAt: IsNull() }, { revokedAt: new Date() });
    if (!token || affected !== 1) {
      return false;
    }
    audit('token.revoked', by, describe(token));
    return true;
  }

  /** Whether concurrent look-ups share database connections. */
  get sharesConnections(): boolean {
    return hasSessions(this.tokens.manager.dataSource);
  }

  /** Verifies a token and records the day of its last use, with at most one write per day. */
  async verify(token: string): Promise<Verdict> {
    const row = await this.found.load(fingerprintOf(token));
    const refused = row ? endOf(row) : 'unknown';
    if (!row || refused) {
      return { refused: refused ?? 'unknown', tokenId: row?.id };
    }
    const { id, familyId, scopes, expiresAt } = row;
    return { principal: { id, familyId: familyId ?? id, scopes: scopes ?? 'all' }, until: expiresAt?.getTime() };
  }

  /** @param digests - in hexadecimal */
  private async findAll(digests: readonly string[]): Promise<(AccessToken | undefined)[]> {
    const values = [digests.map((digest) => Buffer.from(digest, 'hex'))];
    const found = await runRead(this.tokens, { text: FIND, name: 'access_tokens', values });
    const rows = found.map(
      ([digest, id, scopes, familyId, expiresAt, revokedAt, replacedBy, lastUsedOn]) =>
        ({ digest, id, scopes, familyId, expiresAt, revokedAt, replacedBy, lastUsedOn }) as AccessToken,
    );
    const today = new Date().toISOString().slice(0, 10);
    const used = rows.filter((row) => !endOf(row) && row.lastUsedOn !== today).map(({ id }) => id);
    if (used.length > 0) {
      // Not awaited, because the row may be locked.
      void this.tokens.query(NOTE_USE, [used, today]).catch((err: unknown) => {
        this.logger.warn({ msg: 'last use not recorded', tokenIds: used, err });
      });
    }
    const byDigest = new Map(rows.map((row) => [row.digest.toString('hex'), row]));
    return digests.map((digest) => byDigest.get(digest));
  }
}

function newToken({ name, expiresAt = null, scopes = null, familyId = null }: Pick<AccessToken, 'name'> & Partial<AccessToken>) {
  const token = generateToken();
  const stored = { id: newId(), digest: digestOf(token), lastFour: token.slice(-4), createdAt: new Date() };
  return { token, row: { ...stored, name, expiresAt, scopes, familyId } };
}

function describe({ id, name, expiresAt, scopes }: Pick<AccessToken, 'id' | 'name' | 'expiresAt' | 'scopes'>) {
  return { tokenId: id, name, expiresAt, scopes: scopes ?? 'all' };
}
