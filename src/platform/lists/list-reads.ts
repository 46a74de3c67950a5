import { Injectable, Logger } from '@nestjs/common';
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import type { EntityManager, Repository } from 'typeorm';
import { clientAddress, networksOf } from '../auth/client-address.js';
import { Configuration } from '../config/configuration.js';
import { readerOf } from '../database/app-data-source.js';
import { Bulkhead } from '../database/bulkhead.js';
import { Database } from '../database/database.js';
import { databaseBusy, meaningOf, sqlState } from '../database/database-problem.js';
import { MOST_FILTERS, QUICK, sharesOf } from '../database/reader.js';
import { readAlone, runStatement } from '../database/run-statement.js';
import { type Send, unnamed } from '../database/database-client.js';
import { runnerOf, sendInTransaction } from '../database/transactions.js';
import { badRequest } from '../http/problem-types.js';
import { invalidRequest, Problem } from '../http/problem.js';
import { currentRequest } from '../http/express.js';
import { Metrics } from '../observability/metrics.js';
import { FilterBudget } from './filter-budget.js';

/** Maximum concurrent statements of one token that are slow, and of those that should be quick. */
const MOST_SLOW_OF_TOKEN = 2;
const MOST_QUICK_OF_TOKEN = 4;

/** SQLSTATE of a statement that took too long, and of one that waited too long for a lock. */
const [CANCELED, LOCKED] = ['57014', '55P03'];

/** How the rows of a list are found. */
export interface AccessPath {
  /** The source to try first, see `sourcesOf`. */
  readonly first: 'planned' | 'recent' | 'fenced';
  /** Whether the first source was quick. */
  isQuick: boolean;
  /** Whether an index finds all matches; undefined until known. */
  isIndexed?: boolean;
}

/** Reads with one or several statements. */
type Read<T> = (send: Send) => Promise<T>;

const SLOW: AccessPath = { first: 'planned', isQuick: false };

/**
 * Reads lists on the connections of `Reader`: together with others as long as they are quick, and otherwise on connections for slow
 * statements, in turns, and for each token a limited time. In a transaction, they are statements of that.
 */
@Injectable()
export class ListReads {
  /** Access paths of the last minute, by table, base condition and expression. */
  readonly paths = new LRUCache<string, AccessPath>({ ttl: 60_000, max: 1000 });
  private readonly logger = new Logger('Filters');
  private readonly slow: Bulkhead;
  /** Those of {@link slow} without a filter, of a table that is locked. */
  private readonly slowPages: Bulkhead;
  private readonly quick: Bulkhead;
  private readonly budget: FilterBudget;
  /** In seconds. */
  private readonly timeout: number;
  private readonly timeouts;
  private readonly rejections;

  constructor(
    private readonly database: Database,
    configuration: Configuration,
    metrics: Metrics,
  ) {
    const { DATABASE_POOL_SIZE, DATABASE_CONNECTION_TIMEOUT, DATABASE_STATEMENT_TIMEOUT, FILTER_TIMEOUT } = configuration;
    const { DATABASE_URL, DATABASE_DIRECT_URL } = configuration;
    const shares = DATABASE_URL !== undefined && DATABASE_DIRECT_URL === undefined ? sharesOf(DATABASE_POOL_SIZE) : undefined;
    const { slow, quick } = shares ?? { slow: Math.ceil(DATABASE_POOL_SIZE / 2), quick: 1 };
    const wait = DATABASE_CONNECTION_TIMEOUT * 1000;
    const budget = new FilterBudget(configuration, metrics);
    // As if each pending filter took a second, because those of a new token have not taken any time yet.
    const pendingOf = (token: string) => this.slow.pendingOf(token) + this.quick.pendingOf(token);
    const rank = (token: string) => budget.usedBy(token) + pendingOf(token) * 1000;
    this.slow = new Bulkhead({ total: slow, perKey: () => MOST_SLOW_OF_TOKEN, wait, rank });
    this.slowPages = new Bulkhead({ total: Math.ceil(slow / 2), perKey: () => MOST_SLOW_OF_TOKEN, wait });
    this.quick = new Bulkhead({ total: quick * MOST_FILTERS, perKey: () => MOST_QUICK_OF_TOKEN, wait, rank });
    this.budget = budget;
    this.timeout = Math.min(FILTER_TIMEOUT, DATABASE_STATEMENT_TIMEOUT);
    this.timeouts = metrics.counter({
      name: 'items_filter_timeouts_total',
      help: 'Lists rejected with 400 because their filter took longer than FILTER_TIMEOUT',
    });
    this.rejections = metrics.counter({
      name: 'items_filter_rejections_total',
      help: 'Lists rejected with 503 because earlier lists with a filter took too long',
    });
    metrics.gauge(
      { name: 'items_filters_running', help: 'Lists with a filter that run on a separate connection' },
      () => this.slow.running,
    );
    metrics.gauge(
      { name: 'items_filters_waiting', help: 'Lists with a filter in the queue' },
      () => this.slow.queued + this.quick.queued,
    );
  }

  /**
   * Reads a page without a filter.
   *
   * @param name - of the list
   * @param isWhole - whether one plan fits all pages, because the list has no base condition
   */
  async page<T>(manager: EntityManager, name: string, isWhole: boolean, read: Read<T>): Promise<T> {
    const reader = readerOf(manager.dataSource);
    const sendHere = sendInTransaction(manager);
    if (sendHere || !reader) {
      return read(sendHere ? withoutNames(sendHere) : (statement) => runStatement(manager, statement));
    }
    if (!this.paths.has(name)) {
      const lane = isWhole ? reader.pages : reader.quick;
      try {
        return await read((statement) => lane.send(statement));
      } catch (error) {
        if (!isTooLong(error)) {
          throw error;
        }
        // A lock on its table, or rows that were deleted, must not delay other lists.
        this.paths.set(name, SLOW);
      }
    }
    const task = () =>
      this.inTurn(manager, async (send) => {
        const start = performance.now();
        const result = await read(send);
        if (performance.now() - start < QUICK) {
          this.paths.delete(name);
        }
        return result;
      });
    return this.slowPages.run(tokenOf(currentRequest()), task, this.refuse);
  }

  /**
   * Reads with a filter that should be quick: one that was, or one that is new, of a token that has time left and waits for no slow ones.
   *
   * @param path - undefined for a new filter
   * @returns undefined if it took too long, or such a connection is not available
   */
  async quickly<T>(manager: EntityManager, path: AccessPath | undefined, read: Read<T>): Promise<T | undefined> {
    const request = currentRequest();
    const token = tokenOf(request);
    const reader = readerOf(manager.dataSource);
    const mayTry = () =>
      !request?.signal.aborted &&
      (path?.isQuick ?? (this.budget.hasTime(token) && this.slow.pendingOf(token) < MOST_SLOW_OF_TOKEN));
    if (!reader || runnerOf(manager) || !mayTry()) {
      return undefined;
    }
    const task = async () => (mayTry() ? read((statement) => reader.quick.send(statement)) : undefined);
    try {
      return await this.quick.run(token, task, this.refuse);
    } catch (error) {
      if (!isTooLong(error)) {
        throw error;
      }
      // A lock is not the filter's fault.
      if (sqlState(error) === CANCELED) {
        Object.assign(path ?? {}, { isQuick: false });
        this.budget.charge(token, QUICK);
      }
      return undefined;
    }
  }

  /**
   * Reads with a filter on a separate connection, which is closed if the client disconnects, to cancel the statement.
   *
   * @param path - a quick one needs no time of the token
   * @throws Problem 400 if the filter took longer than `FILTER_TIMEOUT`, 429 if the token has no time left, 503 if it waited too long for a
   *   connection
   */
  async alone<T>(
    { manager, metadata }: Pick<Repository<object>, 'manager' | 'metadata'>,
    expression: string,
    path: AccessPath | undefined,
    read: Read<T>,
  ): Promise<T> {
    const token = tokenOf(currentRequest());
    const sendHere = sendInTransaction(manager);
    try {
      return await (sendHere
        ? read(withoutNames(sendHere))
        : this.inTurn(manager, read, () => path?.isQuick || this.budget.requireTime(token)));
    } catch (error) {
      throw meaningOf(error) === 'timeout' ? this.tooSlow(metadata.name, expression) : error;
    }
  }

  /** @param requireTime - for a filter, whose time counts: throws if its token has none left */
  private async inTurn<T>(manager: EntityManager, read: Read<T>, requireTime?: () => unknown): Promise<T> {
    const request = currentRequest();
    const token = tokenOf(request);
    // The embedded database blocks this process during a statement, which therefore cannot notice a disconnect.
    const signal = this.database.isEmbedded ? undefined : request?.signal;
    const measured = requireTime && !this.database.isEmbedded ? this.charged(token, signal, read) : read;
    const task = () => {
      signal?.throwIfAborted();
      requireTime?.();
      return readAlone(manager.dataSource, signal, (send) => measured(withoutNames(send)));
    };
    try {
      requireTime?.();
      return await this.slow.run(token, task, this.refuse);
    } catch (error) {
      throw signal?.aborted ? new Problem(badRequest, 'The client closed its connection before the response.') : error;
    }
  }

  /** Charges the time of a slow filter to its token, unless it waited for a lock. The embedded database has no limits of time. */
  private charged<T>(token: string, signal: AbortSignal | undefined, read: Read<T>): Read<T> {
    return async (send) => {
      const start = performance.now();
      let hasWaited = false;
      try {
        return await read(send);
      } catch (error) {
        hasWaited = meaningOf(error) === 'conflict';
        throw error;
      } finally {
        const elapsed = performance.now() - start;
        if (!hasWaited && (elapsed >= QUICK || signal?.aborted)) {
          this.budget.charge(token, elapsed);
        }
      }
    };
  }

  private tooSlow(entity: string, expression: string): Problem {
    this.timeouts.inc({});
    this.logger.warn({ msg: 'filter took too long', entity, seconds: this.timeout });
    const detail = `takes longer than ${this.timeout} s: add a more selective condition, such as a time range, an exact value or the start of a text`;
    return invalidRequest([{ parameter: 'filter', code: 'limit', start: 0, end: Array.from(expression).length, detail }]);
  }

  private readonly refuse = (): Problem => {
    this.rejections.inc({});
    return databaseBusy();
  };
}

/** The token that a filter counts for; on public routes, the address, or its network of IPv6. */
const tokenOf = (request: Request | undefined) => request?.user?.id ?? (request && networksOf(clientAddress(request))[0]) ?? '';

/** In a transaction, a prepared statement would fail after its table has changed; slow ones gain nothing. */
const withoutNames =
  (send: Send): Send =>
  (statement) =>
    send(unnamed(statement));

/** Whether a statement exceeded a limit of time, alone or waiting for a lock. */
const isTooLong = (error: unknown) => [CANCELED, LOCKED].includes(sqlState(error));
