import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { EntityMetadata, Repository } from 'typeorm';
import { Configuration } from '../config/configuration.js';
import { Bulkhead } from '../database/bulkhead.js';
import { Database } from '../database/database.js';
import { databaseBusy, QUERY_CANCELED, sqlState } from '../database/database-problem.js';
import { LimitedConnections } from '../database/limited-connections.js';
import { hasSessions, send, type Send, type Statement } from '../database/run-statement.js';
import { SharedConnections } from '../database/shared-connections.js';
import { streamOf } from '../database/database-client.js';
import { transactionOf } from '../database/transactions.js';
import { badRequest } from '../http/http-problem-types.js';
import { invalidRequest } from '../http/invalid-request.js';
import { Problem } from '../http/problem.js';
import { currentRequest } from '../http/request-context.js';
import { Metrics } from '../observability/metrics.js';
import { codePoints } from '../validation/code-points.js';

/** Filters of one token that have a connection to themselves at once. */
const MOST_OF_TOKEN = 2;

/** Connections that quick filters share, at most, and statements of one token on them at once. */
const MOST_SHARED = 2;
const MOST_SHARED_OF_TOKEN = 4;

/** How long a statement may hold up those behind it on a shared connection, in milliseconds. */
const SHARED_TIMEOUT = 100;

/** In which way a filter finds its rows. */
export interface Way {
  readonly first: 'planned' | 'recent' | 'fenced';
  /** Whether that takes little time, and whether an index can find all that match; undefined until it is known. */
  isQuick?: boolean;
  isIndexed?: boolean;
}

/**
 * Reads with filters, within limits: nothing can be written, and what costs much costs one processor, for a short time. Half of the
 * connections are left for requests without a filter.
 */
@Injectable()
export class FilteredReads {
  /** For a minute: in which way a filter finds its rows, by the table, the base condition and the expression. */
  readonly ways = new LRUCache<string, Way>({ ttl: 60_000, max: 1000 });
  private readonly logger = new Logger('Filters');
  private readonly bulkhead: Bulkhead;
  private readonly connections: LimitedConnections;
  private readonly sharedConnections: LimitedConnections;
  /** By entity, as a lock on its table must hold up no other. The metadata is that of one data source. */
  private readonly shared = new WeakMap<EntityMetadata, SharedConnections>();
  /** Bounds what a token has on them. */
  private readonly turns: Bulkhead;
  private readonly mostShared: number;
  /** Seconds. */
  private readonly timeout: number;
  private readonly timeouts;
  private readonly rejections;

  constructor(
    private readonly database: Database,
    configuration: Configuration,
    metrics: Metrics,
  ) {
    const { DATABASE_POOL_SIZE, DATABASE_CONNECTION_TIMEOUT, DATABASE_STATEMENT_TIMEOUT, FILTER_TIMEOUT } = configuration;
    const most = Math.ceil(DATABASE_POOL_SIZE / 2);
    this.mostShared = Math.min(MOST_SHARED, most - 1);
    this.timeout = Math.min(FILTER_TIMEOUT, DATABASE_STATEMENT_TIMEOUT);
    const wait = DATABASE_CONNECTION_TIMEOUT * 1000;
    const bulkhead = new Bulkhead({ total: most - this.mostShared, perOwner: () => MOST_OF_TOKEN, wait });
    this.bulkhead = bulkhead;
    this.turns = new Bulkhead({ total: Infinity, perOwner: () => MOST_SHARED_OF_TOKEN, wait });
    const settings = {
      default_transaction_read_only: 'on',
      statement_timeout: Math.round(this.timeout * 1000),
      // Waiting for a lock is not the filter's fault: it is a 503, as for a database that is away.
      lock_timeout: Math.round(this.timeout * 500),
      jit: 'off',
      plan_cache_mode: 'force_custom_plan',
      max_parallel_workers_per_gather: 0,
      // How soon the server notices that a connection was closed.
      ...(!database.isEmbedded && { client_connection_check_interval: 100 }),
    };
    this.connections = new LimitedConnections(settings);
    const timeouts = { statement_timeout: SHARED_TIMEOUT, lock_timeout: SHARED_TIMEOUT / 2 };
    this.sharedConnections = new LimitedConnections({ ...settings, ...timeouts });
    this.timeouts = metrics.counter({
      name: 'items_filter_timeouts_total',
      help: 'Lists answered 400 because their filter took longer than FILTER_TIMEOUT',
    });
    this.rejections = metrics.counter({
      name: 'items_filter_rejections_total',
      help: 'Lists answered 503 because those with a filter before them took too long',
    });
    metrics.gauge(
      { name: 'items_filters_running', help: 'Lists with a filter that have a connection to themselves now' },
      () => bulkhead.running,
    );
    metrics.gauge({ name: 'items_filters_waiting', help: 'Lists with a filter that wait for their turn' }, () => bulkhead.queued);
  }

  /**
   * Sends statements that take little time, on connections that all filters of an entity share, with a time limit of their own.
   *
   * @returns undefined where there are none: in a transaction, behind a pooler, in the embedded database, and of few connections
   */
  senderOf<Entity extends object>({ manager, metadata }: Repository<Entity>): Send | undefined {
    const { dataSource } = manager;
    if (this.mostShared === 0 || !hasSessions(dataSource) || (manager.queryRunner ?? transactionOf(dataSource))) {
      return undefined;
    }
    const mayOpen = () => this.sharedConnections.used < this.mostShared;
    const shared = this.shared.get(metadata) ?? new SharedConnections(() => this.sharedConnections.open(dataSource), mayOpen);
    this.shared.set(metadata, shared);
    const task = (statement: Statement) => shared.use((client) => send(client, statement));
    const token = currentRequest()?.user?.id ?? '';
    return shared.isOpen ? (statement) => this.turns.run(token, () => task(statement), undefined, this.refuse) : undefined;
  }

  /**
   * Reads with a connection to itself, when it is the turn of the client's token. It is closed when the client is gone, upon which the
   * server cancels the statement that runs.
   *
   * @throws Problem 503 when the turn does not come
   */
  async alone<Entity extends object, T>(
    repository: Repository<Entity>,
    read: (repository: Repository<Entity>) => Promise<T>,
  ): Promise<T> {
    const { manager, target } = repository;
    const request = currentRequest();
    // The embedded database runs statements in this process, which sees nothing else meanwhile.
    const signal = this.database.isEmbedded ? undefined : request?.signal;
    const task = async () => {
      // What is part of a transaction stays so, with the settings that it has.
      if (manager.queryRunner ?? transactionOf(manager.dataSource)) {
        return read(repository);
      }
      const connection = await this.connections.open(manager.dataSource);
      const cancel = () => streamOf(connection.client).destroy(signal?.reason as Error);
      try {
        signal?.throwIfAborted();
        signal?.addEventListener('abort', cancel);
        return await read(connection.manager.getRepository<Entity>(target));
      } finally {
        signal?.removeEventListener('abort', cancel);
        connection.release();
      }
    };
    try {
      return await this.bulkhead.run(request?.user?.id ?? '', task, signal, this.refuse);
    } catch (error) {
      throw signal?.aborted ? new Problem(badRequest, 'The client closed its connection before the response.') : error;
    }
  }

  /** @throws Problem 400 for an expression that took longer than `FILTER_TIMEOUT`, or else the error */
  explainFailure(error: unknown, { name, expression }: { readonly name: string; readonly expression: string }): never {
    if (sqlState(error) !== QUERY_CANCELED) {
      throw error;
    }
    this.timeouts.inc({});
    this.logger.warn({ msg: 'filter took too long', entity: name, seconds: this.timeout });
    const detail = `takes longer than ${this.timeout} s: add a more selective condition, such as a range of time, an exact value or the start of a text`;
    throw invalidRequest([{ parameter: 'filter', code: 'limit', start: 0, end: codePoints(expression), detail }]);
  }

  private readonly refuse = (): Problem => {
    this.rejections.inc({});
    return databaseBusy();
  };
}
