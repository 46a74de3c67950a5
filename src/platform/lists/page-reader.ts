import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Configuration } from '../config/configuration.js';
import { readerOf } from '../database/app-data-source.js';
import { Database } from '../database/database.js';
import { type Send, type Statement, unnamed } from '../database/database-client.js';
import { sqlState } from '../database/database-problem.js';
import { QUICK, type Reader } from '../database/reader.js';
import { runStatement } from '../database/run-statement.js';
import { runnerOf, sendInTransaction } from '../database/transactions.js';
import { currentRequest } from '../requests/request.js';
import { Metrics } from '../observability/metrics.js';
import type { Sources } from './sources.js';
import { budgetKeyOf, onReplicaOrPrimary, type PageRead, SlowReads } from './slow-reads.js';

/** SQLSTATE of a statement that took too long, and of one that waited too long for a lock. */
const [CANCELED, LOCKED] = ['57014', '55P03'];

/** How the rows of a list are found. */
export interface AccessPath {
  /** The source to try first, see `sourcesOf`. */
  readonly first: keyof Sources['from'];
  /** Whether the sources that were read were quick. */
  isQuick: boolean;
  /** Whether an index finds all matches; undefined until known. */
  isIndexed?: boolean;
}

const SLOW: AccessPath = { first: 'planned', isQuick: false };

/**
 * Reads quick lists on shared connections, and slow ones on separate connections, in turns and with a limited time for the
 * filters of each token. In a transaction, uses its connection.
 */
@Injectable()
export class PageReader {
  /** Access paths of the last minute, by the key of a {@link PageRead}; pages of a replica have a key of their own. */
  readonly paths = new LRUCache<string, AccessPath>({ ttl: 60_000, max: 1000 });
  readonly slow: SlowReads;

  constructor({ isEmbedded }: Database, configuration: Configuration, metrics: Metrics) {
    this.slow = new SlowReads(isEmbedded, configuration, metrics);
  }

  /** Reads a page without a filter. @param isWhole - without a base condition and order: one plan fits all pages */
  async page(list: PageRead, isWhole: boolean, statement: Statement): Promise<unknown[][]> {
    const sendHere = sendInTransaction(list.repository.manager);
    if (sendHere) {
      return sendHere(unnamed(statement));
    }
    const { replica } = list;
    const key = `replica ${list.key}`;
    const onPrimary = () => this.pageOfPrimary(list, isWhole, statement);
    return replica && !this.paths.has(key)
      ? replica.read((reader) => this.shared(reader, key, isWhole, statement), onPrimary)
      : onPrimary();
  }

  /**
   * Tries a filter on the connections of quick ones, if it was quick, or if it is new and its token has time left and few
   * slow filters pending.
   *
   * @param path - undefined for a new filter
   * @returns undefined if it took too long or was not tried
   */
  async quickly(list: PageRead, path: AccessPath | undefined, statement: Statement): Promise<unknown[][] | undefined> {
    const { manager } = list.repository;
    const request = currentRequest();
    const token = budgetKeyOf(request);
    const mayTry = () => !request?.signal.aborted && (path?.isQuick ?? this.slow.mayTry(token));
    const hasReader = readerOf(manager.dataSource) ?? list.replica;
    if (!hasReader || runnerOf(manager) || !mayTry()) {
      return undefined;
    }
    const attempt = async (reader: Reader | undefined) => {
      try {
        return reader && mayTry() ? await reader.quick.send(statement) : undefined;
      } catch (error) {
        if (sqlState(error) !== CANCELED) {
          throw error;
        }
        if (path) path.isQuick = false;
        this.slow.budget.charge(token, QUICK);
        return undefined;
      }
    };
    // A filter that waited for a lock is read again on a slow connection, too, but its token was not charged.
    return this.slow.run('quick', token, () => onReplicaOrPrimary(list, attempt)).catch(ignoreIfTooLong);
  }

  private async pageOfPrimary(list: PageRead, isWhole: boolean, statement: Statement): Promise<unknown[][]> {
    const { key, repository } = list;
    const { manager } = repository;
    const reader = readerOf(manager.dataSource);
    if (!reader) {
      return runStatement(manager, statement);
    }
    const isSlow = this.paths.has(key);
    const found = isSlow ? undefined : await this.shared(reader, key, isWhole, statement).catch(ignoreIfTooLong);
    const readSlowly = async (send: Send) => {
      const start = performance.now();
      const rows = await send(statement);
      if (performance.now() - start < QUICK) {
        this.paths.delete(key);
      }
      return rows;
    };
    return found ?? this.slow.page(list, readSlowly);
  }

  /** Reads a page without a filter on a shared connection, and remembers if it took too long for that. */
  private async shared({ pages, quick }: Reader, key: string, isWhole: boolean, statement: Statement): Promise<unknown[][]> {
    try {
      return await (isWhole ? pages : quick).send(statement);
    } catch (error) {
      if (isTooLong(error)) {
        // A table that is locked, or has many deleted rows to skip, must not delay other lists again.
        this.paths.set(key, SLOW);
      }
      throw error;
    }
  }
}

/** Whether a statement exceeded a limit of time, alone or waiting for a lock. */
const isTooLong = (error: unknown) => [CANCELED, LOCKED].includes(sqlState(error));

function ignoreIfTooLong(error: unknown): undefined {
  if (!isTooLong(error)) throw error;
}
