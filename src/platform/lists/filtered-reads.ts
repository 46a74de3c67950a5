import { Injectable, Logger } from '@nestjs/common';
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import type { DataSource, Repository } from 'typeorm';
import { clientAddress, networksOf } from '../auth/client-address.js';
import { Configuration } from '../config/configuration.js';
import { Bulkhead, type BulkheadLimits } from '../database/bulkhead.js';
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
import { FilterBudget } from './filter-budget.js';

/** Maximum concurrent filters of one token on separate connections. */
const MOST_OF_TOKEN = 2;

/** Maximum connections that quick filters share, statements of one token on them, and connections for filters that are new. */
const MOST_SHARED = 2;
const MOST_SHARED_OF_TOKEN = 4;
const MOST_NEW = 1;

/** Milliseconds within which a filter is quick: the statement timeout where other statements wait behind. */
export const QUICK = 100;

/** Milliseconds for which an unused shared connection keeps its settings: setting them for each page doubles its processor time. */
const KEPT = 100;

/** How the rows of a filter are found. */
export interface AccessPath {
  /** The source to try first, see `sourcesOf`. */
  readonly first: 'planned' | 'recent' | 'fenced';
  /** Whether the first source was quick. */
  isQuick: boolean;
  /** Whether an index finds all matches; undefined until known. */
  isIndexed?: boolean;
}

/** Connections for statements that should be {@link QUICK}, and their order. */
interface Lane {
  readonly connections: SharedConnections;
  readonly turns: Bulkhead;
}

/**
 * Limits the resources of filters: read-only, one processor, a short timeout, half of the connections, and for each token the time
 * of its slow ones. A filter that is new is tried for a moment, so that it need not wait behind slow ones.
 */
@Injectable()
export class FilteredReads {
  /** Access paths of the last minute, by table, base condition and expression. */
  readonly paths = new LRUCache<string, AccessPath>({ ttl: 60_000, max: 1000 });
  private readonly logger = new Logger('Filters');
  private readonly bulkhead: Bulkhead;
  /** For filters that were quick, and for new ones: one at a time. */
  private readonly lanes: Readonly<Record<'known' | 'untried', Lane>>;
  private readonly budget: FilterBudget;
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
    // Behind a pooler, no connection is shared.
    const mostInLanes = configuration.DATABASE_DIRECT_URL === undefined ? most - 1 : 0;
    const mostShared = Math.min(MOST_SHARED, mostInLanes);
    const mostNew = Math.min(MOST_NEW, mostInLanes - mostShared);
    const wait = DATABASE_CONNECTION_TIMEOUT * 1000;
    const budget = new FilterBudget(configuration, metrics);
    const pendingOf = (token: string) => this.bulkhead.pendingOf(token) + this.lanes.untried.turns.pendingOf(token);
    // As if each pending filter took a second, because those of a new token have not taken any time yet.
    const rank = (token: string) => budget.usedBy(token) + pendingOf(token) * 1000;
    const bulkhead = new Bulkhead({ total: most - mostShared - mostNew, perKey: () => MOST_OF_TOKEN, wait, rank });
    this.bulkhead = bulkhead;
    this.budget = budget;
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
    const quickSettings = { ...this.settings, ...timeouts(QUICK) };
    const open = (dataSource: DataSource) => openLimited(dataSource, quickSettings);
    const lane = (size: number, limits: Pick<BulkheadLimits, 'total' | 'perKey' | 'rank'>): Lane => {
      const connections: SharedConnections = new SharedConnections(open, () => connections.size < size, KEPT);
      return { connections, turns: new Bulkhead({ ...limits, wait }) };
    };
    this.lanes = {
      known: lane(mostShared, { total: Infinity, perKey: () => MOST_SHARED_OF_TOKEN }),
      untried: lane(mostNew, { total: MOST_NEW, perKey: () => 1, rank }),
    };
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
    metrics.gauge(
      { name: 'items_filters_waiting', help: 'Lists with a filter in the queue' },
      () => bulkhead.queued + this.lanes.untried.turns.queued,
    );
  }

  /**
   * Reads on a shared connection what should be quick: a filter that was, or one that is new, of a token that has time left and waits for
   * no slow ones.
   *
   * @param path - undefined for a new filter
   * @returns undefined if it took too long, or such a connection is not available: in transactions, and without sessions
   */
  async quickly<Entity extends object, T>(
    { manager, metadata }: Repository<Entity>,
    path: AccessPath | undefined,
    read: (send: Send) => Promise<T>,
  ): Promise<T | undefined> {
    const { known, untried } = this.lanes;
    const { connections, turns } = path && known.connections.has(metadata) ? known : untried;
    const request = currentRequest();
    const token = tokenOf(request);
    const mayTry = () =>
      !request?.signal.aborted &&
      (path?.isQuick ?? (this.budget.hasTime(token) && this.bulkhead.pendingOf(token) < MOST_OF_TOKEN));
    // While slow ones leave connections free, a new one need not wait for its turn to be tried.
    const mayRunAlone = !path && !turns.isFree && this.bulkhead.isFree;
    if (!mayTry() || mayRunAlone || runnerOf(manager) || !hasSessions(manager.dataSource) || !connections.has(metadata)) {
      return undefined;
    }
    const sendOne: Send = (statement) => connections.use(metadata, (client) => send(client, statement));
    try {
      return await turns.run(token, async () => (mayTry() ? read(sendOne) : undefined), this.refuse);
    } catch (error) {
      const meaning = meaningOf(error);
      if (meaning !== 'timeout' && meaning !== 'conflict') {
        throw error;
      }
      if (path) {
        path.isQuick = false;
      }
      // A conflict, such as a lock, is not the filter's fault.
      if (meaning === 'timeout') {
        this.budget.charge(token, QUICK);
      }
      return undefined;
    }
  }

  /**
   * Reads on a separate connection, which is closed if the client disconnects, to cancel the statement.
   *
   * @param path - a quick one needs no time of the token
   * @throws Problem 400 if the filter took longer than `FILTER_TIMEOUT`, 429 if the token has no time left, 503 if it waited too long for a
   *   connection
   */
  async alone<Entity extends object, T>(
    repository: Repository<Entity>,
    expression: string,
    path: AccessPath | undefined,
    read: (repository: Repository<Entity>) => Promise<T>,
  ): Promise<T> {
    const request = currentRequest();
    const token = tokenOf(request);
    // The embedded database blocks this process during a statement, which therefore cannot notice a disconnect.
    const signal = this.database.isEmbedded ? undefined : request?.signal;
    const requireTime = () => path?.isQuick || this.budget.requireTime(token);
    const task = () => {
      signal?.throwIfAborted();
      requireTime();
      // In a transaction, its connection and settings apply.
      return runnerOf(repository.manager) ? read(repository) : this.readLimited(repository, read, token, signal);
    };
    try {
      requireTime();
      return await this.bulkhead.run(token, task, this.refuse);
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
    token: string,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const connection = await openLimited(manager.dataSource, this.settings);
    const start = performance.now();
    // For a lock, which is not the filter's fault.
    let hasWaited = false;
    const cancel = () => streamOf(connection.client).destroy(signal?.reason as Error);
    try {
      signal?.throwIfAborted();
      signal?.addEventListener('abort', cancel);
      return await read(connection.manager.getRepository<Entity>(target));
    } catch (error) {
      hasWaited = meaningOf(error) === 'conflict';
      throw error;
    } finally {
      signal?.removeEventListener('abort', cancel);
      connection.release();
      const elapsed = performance.now() - start;
      const isSlow = elapsed >= QUICK || signal?.aborted === true;
      // The embedded database has no limits of time.
      if (isSlow && !hasWaited && !this.database.isEmbedded) {
        this.budget.charge(token, elapsed);
      }
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

/** The token that a filter counts for; on public routes, the address, or its network of IPv6. */
const tokenOf = (request: Request | undefined) => request?.user?.id ?? (request && networksOf(clientAddress(request))[0]) ?? '';

/** A lock timeout is not the filter's fault: it gives 503. */
function timeouts(milliseconds: number) {
  return { statement_timeout: Math.round(milliseconds), lock_timeout: Math.round(milliseconds / 2) };
}
