import { Injectable, Logger } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import DataLoader from 'dataloader';
import { In, IsNull, Repository } from 'typeorm';
import { Configuration } from '../config/configuration.js';
import { OperatorError } from '../errors/operator-error.js';
import { readerOf } from '../database/app-data-source.js';
import type { Statement } from '../database/database-client.js';
import { meaningOf } from '../database/database-problem.js';
import { Database } from '../database/database.js';
import { newId } from '../ids/id.js';
import { runStatement } from '../database/run-statement.js';
import { dateIn } from '../time/duration.js';
import { AccessToken, invalidityOf } from './access-token.entity.js';
import { type Attribution, audit } from './audit-log.js';
import type { Verdict } from './principal.js';
import { tokenDigest, generateToken } from './token-format.js';

type NewToken = Pick<AccessToken, 'name'> & Partial<Pick<AccessToken, 'expiresAt' | 'scopes' | 'rateLimit' | 'familyId'>>;

/** Milliseconds for which look-ups use TypeORM's pool after one was too slow for the connections of pages. */
const PAUSE = 1000;

@Injectable()
export class AccessTokensService {
  private readonly logger = new Logger('AccessTokens');
  /** One query for all tokens of one turn of the event loop (ADR 30). */
  private readonly found = new DataLoader((digests: readonly string[]) => this.findAll(digests), {
    cache: false,
    maxBatchSize: 100,
    batchScheduleFn: setImmediate,
  });
  private pausedUntil = 0;

  constructor(
    @InjectRepository(AccessToken) private readonly tokens: Repository<AccessToken>,
    private readonly database: Database,
    private readonly configuration: Configuration,
  ) {}

  /** Issues a token, of which only the digest is stored. */
  async issue(given: NewToken, by: Attribution) {
    const issued = newToken(given);
    await this.tokens.insert(issued.row);
    audit('token.issued', by, detailsOf(issued.row));
    return issued;
  }

  /** Issues a first token if an embedded database has none, unless `LOG_LEVEL` hides it. */
  async issueFirst(): Promise<string | undefined> {
    const isShown = ['info', 'debug', 'trace'].includes(this.configuration.LOG_LEVEL);
    const isFirst = isShown && this.database.isEmbedded && (await this.tokens.count()) === 0;
    if (!isFirst) {
      return undefined;
    }
    const { token } = await this.issue({ name: 'quickstart' }, { actor: 'the service', reason: 'first start' });
    return token;
  }

  /**
   * Issues a token with the name, scopes, limit and `Idempotency-Key`s of another one, which stays valid during the overlap.
   *
   * @param times - in milliseconds; the lifetime is by default that of the old token
   * @throws OperatorError if the old token is unknown, no longer valid, or replaced already
   */
  async rotate(id: string, times: { overlap: number; lifetime?: number | undefined }, by: Attribution) {
    const rotated = await this.database.transaction(async () => {
      const old = await this.tokens.findOne({ where: { id }, lock: { mode: 'pessimistic_write' } });
      const fault = old?.replacedBy ? `already replaced by ${old.replacedBy}` : old && invalidityOf(old);
      if (!old || fault) {
        throw new OperatorError(
          `The token ${id} is ${fault ?? 'unknown'}. Rotate a token that is in use, see \`token list\`, or issue a new one.`,
        );
      }
      const end = old.expiresAt?.getTime() ?? Infinity;
      const expiresAt = dateIn(times.lifetime ?? end - old.createdAt.getTime());
      const { name, scopes, rateLimit } = old;
      const issued = newToken({ name, scopes, rateLimit, expiresAt, familyId: old.familyId ?? id });
      const replacedExpiresAt = dateIn(Math.min(times.overlap, end - Date.now()));
      await this.tokens.insert(issued.row);
      await this.tokens.update({ id }, { replacedBy: issued.row.id, expiresAt: replacedExpiresAt });
      return { ...issued, replacedExpiresAt };
    });
    audit('token.rotated', by, { ...detailsOf(rotated.row), replaces: id, replacedExpiresAt: rotated.replacedExpiresAt });
    return rotated;
  }

  /** All tokens, including revoked and expired ones, oldest first. */
  list(): Promise<AccessToken[]> {
    return this.tokens.find({ order: { id: 'ASC' } });
  }

  /** @returns the revoked token; undefined if there is no such token, or it was revoked before */
  async revoke(which: { id: string } | { token: string }, by: Attribution): Promise<AccessToken | undefined> {
    const active = { ...('id' in which ? which : { digest: storedDigest(which.token) }), revokedAt: IsNull() };
    const token = await this.tokens.findOneBy(active);
    const { affected } = await this.tokens.update(active, { revokedAt: new Date() });
    if (!token || affected !== 1) {
      return undefined;
    }
    audit('token.revoked', by, detailsOf(token));
    return token;
  }

  /** Verifies a token and records the day of its last use. */
  async verify(token: string): Promise<Verdict> {
    const row = await this.found.load(tokenDigest(token));
    if (!row) {
      return { refused: 'unknown' };
    }
    const refused = invalidityOf(row);
    if (refused) {
      return { refused, tokenId: row.id };
    }
    const { id, familyId, scopes, rateLimit, expiresAt } = row;
    const principal = {
      id,
      familyId: familyId ?? id,
      scopes: scopes ?? ('all' as const),
      rateLimit: rateLimit ?? undefined,
    };
    return { principal, until: expiresAt?.getTime() };
  }

  /** @param digests - in hexadecimal */
  private async findAll(digests: readonly string[]): Promise<(AccessToken | undefined)[]> {
    // `metadata` throws a 503 while the database is not ready.
    const { tablePath, columns, dataSource } = this.tokens.metadata;
    const selected = columns.map(({ databaseName }) => databaseName).join(', ');
    // One text for any number of tokens, which is prepared once.
    const text = `SELECT ${selected} FROM ${tablePath} WHERE digest = ANY($1)`;
    const found = await this.read({ name: tablePath, text, values: [digests.map((digest) => Buffer.from(digest, 'hex'))] });
    const rows = found.map((values) => {
      const row = new AccessToken();
      columns.forEach((column, index) => {
        column.setEntityValue(row, dataSource.driver.prepareHydratedValue(values[index], column));
      });
      return row;
    });
    const today = new Date().toISOString().slice(0, 10);
    const used = rows.filter((row) => !invalidityOf(row) && row.lastUsedOn !== today).map(({ id }) => id);
    if (used.length > 0) {
      // Not awaited, because a row may be locked.
      void this.tokens.update({ id: In(used) }, { lastUsedOn: today }).catch((err: unknown) => {
        this.logger.warn({ msg: 'last use not recorded', tokenIds: used, err });
      });
    }
    const byDigest = new Map(rows.map((row) => [row.digest.toString('hex'), row]));
    return digests.map((digest) => byDigest.get(digest));
  }

  /** Reads on a connection of pages, so that look-ups do not wait for writes, or on the pool if the table is locked. */
  private async read(statement: Statement): Promise<unknown[][]> {
    const { manager } = this.tokens;
    const pages = performance.now() < this.pausedUntil ? undefined : readerOf(manager.dataSource)?.pages;
    if (pages) {
      try {
        return await pages.send(statement);
      } catch (error) {
        if (!/^(?:timeout|conflict)$/.test(meaningOf(error) ?? '')) {
          throw error;
        }
        this.pausedUntil = performance.now() + PAUSE;
      }
    }
    return runStatement(manager, statement);
  }
}

function newToken({ name, expiresAt = null, scopes = null, rateLimit = null, familyId = null }: NewToken) {
  const token = generateToken();
  const stored = { id: newId(), digest: storedDigest(token), lastFour: token.slice(-4), createdAt: new Date() };
  return { token, row: { ...stored, name, expiresAt, scopes, rateLimit, familyId } };
}

const storedDigest = (token: string) => Buffer.from(tokenDigest(token), 'hex');

function detailsOf(token: Pick<AccessToken, 'id' | 'name' | 'expiresAt' | 'scopes' | 'rateLimit'>) {
  const { id, name, expiresAt, scopes, rateLimit } = token;
  return { tokenId: id, name, expiresAt, scopes: scopes ?? 'all', limit: rateLimit ?? undefined };
}
