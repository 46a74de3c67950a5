import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Repository } from 'typeorm';
import { Configuration } from '../config/configuration.js';
import { Bulkhead } from '../database/bulkhead.js';
import { Database } from '../database/database.js';
import { streamOf } from '../database/database-client.js';
import { databaseBusy, meaningOf } from '../database/database-problem.js';
import { send, type Send } from '../database/run-statement.js';
import { hasSessions, openLimited, SharedConnections } from '../database/shared-connections.js';
import { runnerOf } from '../database/app-data-source.js';
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

/** Milliseconds for which an unused shared connection keeps its settings: setting them for each page doubles its processor time. */
const KEPT = 100;

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
  /** Limits the statements of each token on shared connections. */
  private readonly turns: Bulkhead;
  private readonly shared: SharedConnections;
  private readonly settings;
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
    const mostShared = Math.min(MOST_SHARED, most - 1);
    const wait = DATABASE_CONNECTION_TIMEOUT * 1000;
    const bulkhead = new Bulkhead({ total: most - mostShared, perKey: () => MOST_OF_TOKEN, wait });
    this.bulkhead = bulkhead;
    this.turns = new Bulkhead({ total: Infinity, perKey: () => MOST_SHARED_OF_TOKEN, wait });
    this.timeout = Math.min(FILTER_TIMEOUT, DATABASE_STATEMENT_TIMEOUT);
    this.settings = {
      default_transaction_read_only: 'on',
      jit: 'off',
      plan_cache_mode: 'force_custom_plan',
      max_parallel_workers_per_gather: 0,
      // Milliseconds until the server notices a closed connection.
      ...(!database.isEmbedded && { client_connection_check_interval: 100 }),
      ...timeouts(this.timeout * 1000),
    };
    const sharedSettings = { ...this.settings, ...timeouts(SHARED_TIMEOUT) };
    const mayOpen = () => this.shared.size < mostShared;
    this.shared = new SharedConnections((dataSource) => openLimited(dataSource, sharedSettings), mayOpen, KEPT);
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
    if (runnerOf(manager) || !hasSessions(manager.dataSource) || !this.shared.has(metadata)) {
      return undefined;
    }
    return (statement) => {
      const task = () => this.shared.use(metadata, (client) => send(client, statement));
      return this.turns.run(currentRequest()?.user?.id ?? '', task, this.refuse);
    };
  }

  /**
   * Reads on a separate connection, which is closed if the client disconnects, to cancel the statement.
   *
   * @throws Problem 400 if the filter took longer than `FILTER_TIMEOUT`, 503 if it waited too long for a connection
   */
  async alone<Entity extends object, T>(
    repository: Repository<Entity>,
    expression: string,
    read: (repository: Repository<Entity>) => Promise<T>,
  ): Promise<T> {
    const request = currentRequest();
    // The embedded database blocks this process during a statement, which therefore cannot notice a disconnect.
    const signal = this.database.isEmbedded ? undefined : request?.signal;
    const task = () => {
      signal?.throwIfAborted();
      // In a transaction, its connection and settings apply.
      return runnerOf(repository.manager) ? read(repository) : this.readLimited(repository, read, signal);
    };
    try {
      return await this.bulkhead.run(request?.user?.id ?? '', task, this.refuse);
    } catch (error) {
      if (signal?.aborted) {
        throw new Problem(badRequest, 'The client closed its connection before the response.');
      }
      throw meaningOf(error) === 'timeout' ? this.tooSlow(repository.metadata.name, expression) : error;
    }
  }

  private async readLimited<Entity extends object, T>(
    { manager, target }: Repository<Entity>,
    read: (repository: Repository<Entity>) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const connection = await openLimited(manager.dataSource, this.settings);
    const cancel = () => streamOf(connection.client).destroy(signal?.reason as Error);
    try {
      signal?.throwIfAborted();
      signal?.addEventListener('abort', cancel);
      return await read(connection.manager.getRepository<Entity>(target));
    } finally {
      signal?.removeEventListener('abort', cancel);
      connection.release();
    }
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

/** A lock timeout is not the filter's fault: it gives 503. */
function timeouts(milliseconds: number) {
  return { statement_timeout: Math.round(milliseconds), lock_timeout: Math.round(milliseconds / 2) };
}
