import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { EntityMetadata, Repository } from 'typeorm';
import { Configuration } from '../config/configuration.js';
import { Bulkhead } from '../database/bulkhead.js';
import { Database } from '../database/database.js';
import { databaseBusy, meaningOf } from '../database/database-problem.js';
import { LimitedConnections } from '../database/limited-connections.js';
import { hasSessions, send, type Send, type Statement } from '../database/run-statement.js';
import { SharedConnections } from '../database/shared-connections.js';
import { streamOf } from '../database/database-client.js';
import { transactionOf } from '../database/app-data-source.js';
import { badRequest } from '../http/problem-types.js';
import { invalidRequest, Problem } from '../http/problem.js';
import { currentRequest } from '../http/express.js';
import { Metrics } from '../observability/metrics.js';

/** Maximum concurrent filters of one token on separate connections. */
const MOST_OF_TOKEN = 2;

/** Maximum connections that quick filters share, and statements of one token on them. */
const MOST_SHARED = 2;
const MOST_SHARED_OF_TOKEN = 4;

/** Statement timeout on shared connections in milliseconds: other statements wait behind. */
const SHARED_TIMEOUT = 100;

/** How the rows of a filter are found. */
export interface AccessPath {
  /** The source to try first, see `sourcesOf`. */
  readonly first: 'planned' | 'recent' | 'fenced';
  /** Whether the first source is quick, and whether an index finds all matches; undefined until known. */
  isQuick?: boolean;
  isIndexed?: boolean;
}

/** Limits the resources of filters: read-only, one processor, a short timeout, and half of the connections. */
@Injectable()
export class FilteredReads {
  /** Access paths of the last minute, by table, base condition and expression. */
  readonly paths = new LRUCache<string, AccessPath>({ ttl: 60_000, max: 1000 });
  private readonly logger = new Logger('Filters');
  private readonly bulkhead: Bulkhead;
  private readonly connections: LimitedConnections;
  private readonly sharedConnections: LimitedConnections;
  /** By entity, so that a lock on one table does not block others. Each data source has its own metadata. */
  private readonly shared = new WeakMap<EntityMetadata, SharedConnections>();
  /** Limits the statements of each token on shared connections. */
  private readonly turns: Bulkhead;
  private readonly mostShared: number;
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
    const most = Math.ceil(DATABASE_POOL_SIZE / 2);
    this.mostShared = Math.min(MOST_SHARED, most - 1);
    this.timeout = Math.min(FILTER_TIMEOUT, DATABASE_STATEMENT_TIMEOUT);
    const wait = DATABASE_CONNECTION_TIMEOUT * 1000;
    const bulkhead = new Bulkhead({ total: most - this.mostShared, perKey: () => MOST_OF_TOKEN, wait });
    this.bulkhead = bulkhead;
    this.turns = new Bulkhead({ total: Infinity, perKey: () => MOST_SHARED_OF_TOKEN, wait });
    const settings = {
      default_transaction_read_only: 'on',
      statement_timeout: Math.round(this.timeout * 1000),
      // A lock timeout is not the filter's fault: it gives 503.
      lock_timeout: Math.round(this.timeout * 500),
      jit: 'off',
      plan_cache_mode: 'force_custom_plan',
      max_parallel_workers_per_gather: 0,
      // Milliseconds until the server notices a closed connection.
      ...(!database.isEmbedded && { client_connection_check_interval: 100 }),
    };
    this.connections = new LimitedConnections(settings);
    const timeouts = { statement_timeout: SHARED_TIMEOUT, lock_timeout: SHARED_TIMEOUT / 2 };
    this.sharedConnections = new LimitedConnections({ ...settings, ...timeouts });
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
      () => bulkhead.running,
    );
    metrics.gauge({ name: 'items_filters_waiting', help: 'Lists with a filter in the queue' }, () => bulkhead.queued);
  }

  /** Sends quick statements on shared connections of an entity; undefined in transactions, without sessions, or if none is free. */
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

  /** Reads on a separate connection, which is closed if the client disconnects, to cancel the statement. @throws Problem 503 */
  async alone<Entity extends object, T>(
    repository: Repository<Entity>,
    read: (repository: Repository<Entity>) => Promise<T>,
  ): Promise<T> {
    const { manager, target } = repository;
    const request = currentRequest();
    // The embedded database blocks this process during a statement, which therefore cannot notice a disconnect.
    const signal = this.database.isEmbedded ? undefined : request?.signal;
    const task = async () => {
      // In a transaction, its connection and settings apply.
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

  /** @throws Problem 400 if the filter took longer than `FILTER_TIMEOUT`; otherwise the error */
  explainFailure(error: unknown, { name, expression }: { readonly name: string; readonly expression: string }): never {
    if (meaningOf(error) !== 'timeout') {
      throw error;
    }
    this.timeouts.inc({});
    this.logger.warn({ msg: 'filter took too long', entity: name, seconds: this.timeout });
    const detail = `takes longer than ${this.timeout} s: add a more selective condition, such as a time range, an exact value or the start of a text`;
    throw invalidRequest([{ parameter: 'filter', code: 'limit', start: 0, end: Array.from(expression).length, detail }]);
  }

  private readonly refuse = (): Problem => {
    this.rejections.inc({});
    return databaseBusy();
  };
}
