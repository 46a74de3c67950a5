import { Logger } from '@nestjs/common';
import { readOptions } from '../database/data-source-options.js';
import type { Configuration } from '../config/configuration.js';
import type { Send } from '../database/database-client.js';
import { meaningOf } from '../database/database-problem.js';
import { QUICK } from '../database/reader.js';
import { readAlone } from '../database/run-statement.js';
import { sendInTransaction } from '../database/transactions.js';
import { currentRequest } from '../requests/request.js';
import { badRequest } from '../problems/problem-types.js';
import { invalidRequest, Problem } from '../problems/problem.js';
import type { Metrics } from '../observability/metrics.js';
import { type PageRead, onReplicaOrPrimary, type Read, withoutNames } from './page-read.js';
import { type ListTurns, budgetKeyOf } from './list-turns.js';

/** Reads lists on connections of their own, in turns, and those with a filter within the time of their token. */
export class SlowReads {
  private readonly logger = new Logger('Filters');
  /** Of a filter, in seconds. */
  private readonly timeout: number;
  private readonly timeouts;

  constructor(
    private readonly turns: ListTurns,
    private readonly isEmbedded: boolean,
    configuration: Configuration,
    metrics: Metrics,
  ) {
    this.timeout = readOptions(configuration).timeout / 1000;
    this.timeouts = metrics.counter({
      name: 'filter_timeouts_total',
      help: 'Lists rejected with 400 because their filter took longer than FILTER_TIMEOUT',
    });
  }

  /** Reads a page without a filter from the primary. */
  page<T>(list: PageRead, read: Read<T>): Promise<T> {
    const task = () => this.inTurn({ ...list, replica: undefined }, read);
    return this.turns.run('slowPages', budgetKeyOf(currentRequest()), task);
  }

  /**
   * Reads with a filter, in a transaction with a statement of that.
   *
   * @param isQuick - for one that needs no time of the token
   * @throws Problem 400 if the filter took longer than `FILTER_TIMEOUT`, 429 if the token has no time left, 503 if it waited
   *   too long for a connection
   */
  filter<T>(list: PageRead, expression: string, isQuick: () => boolean, read: Read<T>): Promise<T> {
    const { manager, metadata } = list.repository;
    const token = budgetKeyOf(currentRequest());
    const bounded: Read<T> = async (send) => {
      try {
        return await read(send);
      } catch (error) {
        throw meaningOf(error) === 'timeout' ? this.tooSlow(metadata.name, expression) : error;
      }
    };
    const sendHere = sendInTransaction(manager);
    if (sendHere) {
      return bounded(withoutNames(sendHere));
    }
    const requireTime = () => {
      if (!isQuick()) {
        this.turns.budget.requireTime(token);
      }
    };
    return this.inTurn(list, this.isEmbedded ? bounded : this.charged(token, bounded), requireTime);
  }

  /** Closes the connection if the client disconnects, to cancel. @param requireTime - throws if the token has no time */
  private async inTurn<T>(list: PageRead, read: Read<T>, requireTime?: () => void): Promise<T> {
    const request = currentRequest();
    // The embedded database blocks this process during a statement, which therefore cannot notice a disconnect.
    const signal = this.isEmbedded ? undefined : request?.signal;
    const { dataSource } = list.repository.manager;
    const task = () => {
      signal?.throwIfAborted();
      requireTime?.();
      return onReplicaOrPrimary(list, (reader) => readAlone(dataSource, reader, signal, (send) => read(withoutNames(send))));
    };
    try {
      requireTime?.();
      return await this.turns.run('slow', budgetKeyOf(request), task);
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
          this.turns.budget.charge(token, elapsed);
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
