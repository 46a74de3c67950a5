import { Logger } from '@nestjs/common';
import type { Request } from 'express';
import type { ObjectLiteral, Repository } from 'typeorm';
import { readerOf } from '../database/app-data-source.js';
import { Bulkhead } from '../database/bulkhead.js';
import { readOptions } from '../database/data-source-options.js';
import type { Configuration } from '../config/configuration.js';
import { type Send, unnamed } from '../database/database-client.js';
import { databaseBusy, meaningOf } from '../database/database-problem.js';
import type { ReadReplica } from '../database/read-replica.js';
import { MOST_FILTERS, QUICK, type Reader, sharesOf } from '../database/reader.js';
import { readAlone } from '../database/run-statement.js';
import { sendInTransaction } from '../database/transactions.js';
import { clientNetwork } from '../requests/client-address.js';
import { currentRequest } from '../requests/request.js';
import { badRequest } from '../problems/problem-types.js';
import { invalidRequest, Problem } from '../problems/problem.js';
import type { Metrics } from '../observability/metrics.js';
import { FilterBudget } from './filter-budget.js';

/** A page to read. */
export interface PageRead<Entity extends ObjectLiteral = ObjectLiteral> {
  readonly repository: Repository<Entity>;
  /** Identifies the list with its filter, to remember how it is found. */
  readonly key: string;
  /** Undefined if the page must not lag behind. */
  readonly replica: ReadReplica | undefined;
}

type Read<T> = (send: Send) => Promise<T>;

/** Maximum concurrent statements of one token that are slow, and of those that should be quick. */
const MOST_SLOW_OF_TOKEN = 2;
const MOST_QUICK_OF_TOKEN = 4;

/**
 * Reads slow lists, each alone on a connection; those with a filter within the time budget of their token. Tokens take
 * turns on these connections, and on those of filters that should be quick.
 */
export class SlowReads {
  readonly budget: FilterBudget;
  private readonly logger = new Logger('Filters');
  /** Time limit of a filter, in seconds. */
  private readonly timeout: number;
  private readonly slow: Bulkhead;
  /** Limits the lists without a filter in {@link slow}, so that a locked table leaves room for others. */
  private readonly slowPages: Bulkhead;
  private readonly quick: Bulkhead;
  private readonly timeouts;
  private readonly rejections;

  constructor(
    private readonly isEmbedded: boolean,
    configuration: Configuration,
    metrics: Metrics,
  ) {
    const { DATABASE_POOL_SIZE, DATABASE_READ_URL, DATABASE_CONNECTION_TIMEOUT } = configuration;
    const { timeout, shares } = readOptions(configuration);
    const undivided = { slow: Math.ceil(DATABASE_POOL_SIZE / 2), quick: 1 };
    const { slow, quick } = shares ?? (DATABASE_READ_URL ? sharesOf(DATABASE_POOL_SIZE) : undivided);
    const wait = DATABASE_CONNECTION_TIMEOUT * 1000;
    // A pending filter counts as a second: otherwise, all filters of a token that has used no time yet would go first.
    const pendingOf = (token: string) => this.slow.pendingOf(token) + this.quick.pendingOf(token);
    const rank = (token: string) => this.budget.usedBy(token) + pendingOf(token) * 1000;
    this.timeout = timeout / 1000;
    this.budget = new FilterBudget(configuration, metrics);
    this.slow = new Bulkhead({ total: slow, perKey: MOST_SLOW_OF_TOKEN, wait, rank });
    this.slowPages = new Bulkhead({ total: Math.ceil(slow / 2), perKey: MOST_SLOW_OF_TOKEN, wait });
    this.quick = new Bulkhead({ total: quick * MOST_FILTERS, perKey: MOST_QUICK_OF_TOKEN, wait, rank });
    const timeouts = 'Lists rejected with 400 because their filter took longer than FILTER_TIMEOUT';
    this.timeouts = metrics.counter({ name: 'filter_timeouts_total', help: timeouts });
    const rejections = 'Lists rejected with 503 because earlier slow or filtered lists took too long';
    this.rejections = metrics.counter({ name: 'filter_rejections_total', help: rejections });
    const running = 'Slow lists that run on a connection of their own';
    metrics.gauge({ name: 'filters_running', help: running }, () => this.slow.running);
    const waiting = 'Lists that wait for a turn, except unfiltered ones behind a locked table';
    metrics.gauge({ name: 'filters_waiting', help: waiting }, () => this.slow.queued + this.quick.queued);
  }

  /** Whether a token may try a new filter on the connections of quick ones. */
  mayTry(token: string): boolean {
    return this.budget.hasTime(token) && this.slow.pendingOf(token) < MOST_SLOW_OF_TOKEN;
  }

  /** Runs a task once its token has a turn in the queue. @throws Problem 503 if it waited too long for that */
  run<T>(queue: 'quick' | 'slow' | 'slowPages', token: string, task: () => Promise<T>): Promise<T> {
    return this[queue].run(token, task, () => {
      this.rejections.inc({});
      return databaseBusy();
    });
  }

  /** Reads a page without a filter from the primary. */
  page<T>(list: PageRead, read: Read<T>): Promise<T> {
    const task = () => this.inTurn({ ...list, replica: undefined }, read);
    return this.run('slowPages', budgetKeyOf(currentRequest()), task);
  }

  /**
   * Reads with a filter; in a transaction, on its connection.
   *
   * @param isQuick - whether the filter is known to be quick, and so needs no time of the token
   * @throws Problem 400 if the filter took longer than `FILTER_TIMEOUT`, 429 if the token has no time left, 503 if it waited
   *   too long for a connection
   */
  filter<T>(list: PageRead, expression: string, isQuick: () => boolean, read: Read<T>): Promise<T> {
    const { manager, metadata } = list.repository;
    const token = budgetKeyOf(currentRequest());
    const bounded: Read<T> = (send) =>
      read(send).catch((error: unknown) => {
        throw meaningOf(error) === 'timeout' ? this.tooSlow(metadata.name, expression) : error;
      });
    const sendHere = sendInTransaction(manager);
    if (sendHere) {
      // After a change of its table, a prepared statement would end the transaction.
      return bounded((statement) => sendHere(unnamed(statement)));
    }
    const requireTime = () => {
      if (!isQuick()) {
        this.budget.requireTime(token);
      }
    };
    return this.inTurn(list, this.isEmbedded ? bounded : this.charged(token, bounded), requireTime);
  }

  /** Reads in turn; closes the connection if the client disconnects. @param requireTime - throws if the token has no time */
  private async inTurn<T>(list: PageRead, read: Read<T>, requireTime?: () => void): Promise<T> {
    const request = currentRequest();
    // The embedded database blocks this process during a statement, which therefore cannot notice a disconnect.
    const signal = this.isEmbedded ? undefined : request?.signal;
    const { dataSource } = list.repository.manager;
    const task = () => {
      signal?.throwIfAborted();
      requireTime?.();
      return onReplicaOrPrimary(list, (reader) => readAlone(dataSource, reader, signal, read));
    };
    try {
      requireTime?.();
      return await this.run('slow', budgetKeyOf(request), task);
    } catch (error) {
      throw signal?.aborted ? new Problem(badRequest, 'The client closed its connection before the response.') : error;
    }
  }

  /** Charges the time of a filter to its token, unless it waited for a lock or a server that is gone. */
  private charged<T>(token: string, read: Read<T>): Read<T> {
    const signal = currentRequest()?.signal;
    return async (send: Send) => {
      const start = performance.now();
      let isToBlame = true;
      try {
        return await read(send);
      } catch (error) {
        isToBlame = signal?.aborted === true || !/^(?:conflict|connection)$/.test(meaningOf(error) ?? '');
        throw error;
      } finally {
        const elapsed = performance.now() - start;
        if (isToBlame && (elapsed >= QUICK || signal?.aborted)) {
          this.budget.charge(token, elapsed);
        }
      }
    };
  }

  private tooSlow(entity: string, expression: string): Problem {
    this.timeouts.inc({});
    this.logger.warn({ msg: 'filter took too long', entity, seconds: this.timeout });
    const detail =
      `takes longer than ${this.timeout} s: add a more selective condition, such as a time range, an exact value or the ` +
      'start of a text';
    return invalidRequest([{ parameter: 'filter', code: 'limit', start: 0, end: Array.from(expression).length, detail }]);
  }
}

/** Reads from the replica if the page may lag; otherwise, or if that fails, from the primary, which may have no reader. */
export function onReplicaOrPrimary<T>(
  { repository, replica }: PageRead,
  read: (reader: Reader | undefined) => Promise<T>,
): Promise<T> {
  const onPrimary = () => read(readerOf(repository.manager.dataSource));
  return replica ? replica.read(read, onPrimary) : onPrimary();
}

/** The id of the token whose budget a list uses; on public routes, the address or, with IPv6, its /64 network. */
export function budgetKeyOf(request: Request | undefined): string {
  return request?.user?.id ?? (request && clientNetwork(request)) ?? '';
}
