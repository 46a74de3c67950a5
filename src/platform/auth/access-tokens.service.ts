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

/** How a token replaces another. Times are in milliseconds. */
export interface Rotation {
  /** How much longer the old one works, at most. */
  overlap: number;
  /** How long the new one is valid, `Infinity` for ever; by default as long as the old one was meant to be. */
  lifetime?: number | undefined;
}

const FIND = `
  SELECT digest, id, scopes, family_id, expires_at, revoked_at, replaced_by, last_used_on::text
  FROM access_tokens WHERE digest = ANY($1)`;

/** Ordered, so that replicas do not deadlock. `SKIP LOCKED` would make copies of a distributed table differ. */
const NOTE_USE = `
  UPDATE access_tokens SET last_used_on = $2 WHERE id IN (
    SELECT id FROM access_tokens WHERE id = ANY($1) AND last_used_on IS DISTINCT FROM $2 ORDER BY id FOR NO KEY UPDATE)`;

/** The life of access tokens: issued, verified, listed, rotated, revoked. */
@Injectable()
export class AccessTokensService {
  private readonly logger = new Logger('AccessTokens');
  /** Looks up the tokens of one turn of the event loop together: ADR 30. */
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
   * Issues a token, which may expire and be restricted to scopes.
   *
   * @returns the token, which is stored nowhere
   */
  async issue(given: Pick<AccessToken, 'name'> & Partial<AccessToken>, by: Attribution): Promise<string> {
    const { token, row } = newToken(given);
    await this.tokens.insert(row);
    audit('token.issued', by, describe(row));
    return token;
  }

  /** Issues and logs the token `quickstart`, once in the life of the embedded database, if the log shows it. @param url - to call */
  async offerQuickstart(url: string): Promise<void> {
    if (logsInfo(this.configuration) && this.database.isEmbedded && (await this.tokens.count()) === 0) {
      const token = await this.issue({ name: 'quickstart' }, { actor: 'the service', reason: 'first start' });
      const logger = new Logger('Quickstart');
      logger.log(`Your access token, shown this once: ${token}`);
      logger.log(`Try it: curl -H 'Authorization: Bearer ${token}' ${url}`);
    }
  }

  /**
   * Issues a token that replaces another: it has its name, scopes and `Idempotency-Key`s. The old one works for a while longer.
   *
   * @returns the new token
   * @throws OperatorError when the old one is unknown, has ended, or is replaced already
   */
  async rotate(id: string, { overlap, lifetime }: Rotation, by: Attribution): Promise<string> {
    const { token, row, replacedExpiresAt } = await this.database.transaction(async () => {
      const old = await this.tokens.findOne({ where: { id }, lock: { mode: 'pessimistic_write' } });
      const fault = old?.replacedBy ? `replaced by ${old.replacedBy} already` : old && endOf(old);
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

  /** All tokens, oldest first, also those revoked or expired. */
  list(): Promise<AccessToken[]> {
    return this.tokens.find({ order: { id: 'ASC' } });
  }

  /** @throws Error when there is no such token */
  get(which: { id: string } | { digest: Buffer }): Promise<AccessToken> {
    return this.tokens.findOneByOrFail(which);
  }

  /** Revokes a token for good. @returns false when there is no such token, or it is revoked already */
  async revoke(which: { id: string } | { digest: Buffer }, by: Attribution): Promise<boolean> {
    const token = await this.tokens.findOneBy(which);
    const { affected } = await this.tokens.update({ ...which, revokedAt: IsNull() }, { revokedAt: new Date() });
    if (!token || affected !== 1) {
      return false;
    }
    audit('token.revoked', by, describe(token));
    return true;
  }

  /** Whether look-ups share connections. */
  get sharesConnections(): boolean {
    return hasSessions(this.tokens.manager.dataSource);
  }

  /** Verifies a token, and notes the day of its last use, with at most one write a day. */
  async verify(token: string): Promise<Verdict> {
    const row = await this.found.load(fingerprintOf(token));
    const refused = row ? endOf(row) : 'unknown';
    if (!row || refused) {
      return { refused: refused ?? 'unknown', tokenId: row?.id };
    }
    const { id, familyId, scopes, expiresAt } = row;
    return { principal: { id, familyId: familyId ?? id, scopes: scopes ?? 'all' }, until: expiresAt?.getTime() };
  }

  /** Looks tokens up, and notes the day for those that can be used. @param digests - in hexadecimal digits */
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
      // Not awaited: it may have to wait for a row that is locked.
      void this.tokens.query(NOTE_USE, [used, today]).catch((err: unknown) => {
        this.logger.warn({ msg: 'day of last use not noted', tokenIds: used, err });
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
