import { Injectable, Logger } from '@nestjs/common';
import { Counter } from 'prom-client';
import type { EntityManager, Repository } from 'typeorm';
import { Configuration } from '../config/configuration.js';
import { Database } from '../database/database.js';
import { newId } from '../database/id.js';
import { databaseBusy, QUERY_CANCELED, sqlState } from '../database/database-problem.js';
import { readOnly } from '../database/transactions.js';
import { badRequest } from '../http/http-problem-types.js';
import { invalidRequest } from '../http/invalid-request.js';
import { Problem } from '../http/problem.js';
import { Metrics } from '../observability/metrics.js';
import { currentRequest } from '../http/request-context.js';
import { codePoints } from '../validation/code-points.js';
import { Bulkhead } from '../database/bulkhead.js';
import { encodeCursor, type Position } from './cursor.js';
import type { Condition } from './filter/condition.js';
import { findFiltered, keyStatements } from './find-filtered.js';
import { ALL_ROWS, type ListOptions, type ListScope, scopeOf } from './list-scope.js';
import { checkOrders } from './order.js';
import type { Page, Row, Values } from './page.js';
import { CURSOR_FAULT, type PageQuery } from './page-query.js';
import { findByKeys, findNewest, type Found, insertRow } from './rows.js';

/** Filters of one token that run at once. */
const MAX_FILTERS_OF_TOKEN = 2;

/** Reads lists page by page. */
@Injectable()
export class Lists {
  private readonly logger = new Logger('Lists');
  private readonly bulkhead: Bulkhead;
  private readonly created: Counter<'table'>;
  private readonly filterTimeouts;
  private readonly filterRejections;

  constructor(
    private readonly database: Database,
    private readonly configuration: Configuration,
    metrics: Metrics,
  ) {
    database.addCheck(checkOrders);
    const { DATABASE_POOL_SIZE, DATABASE_CONNECTION_TIMEOUT } = configuration;
    // Half of the connections are left for requests without a filter.
    const bulkhead = new Bulkhead({
      total: Math.ceil(DATABASE_POOL_SIZE / 2),
      perOwner: MAX_FILTERS_OF_TOKEN,
      wait: DATABASE_CONNECTION_TIMEOUT * 1000,
    });
    this.bulkhead = bulkhead;
    this.created = new Counter({
      name: 'items_rows_created_total',
      help: 'Rows added to a list and committed, by its table',
      labelNames: ['table'],
      registers: [metrics.registry],
    });
    this.filterTimeouts = metrics.counter({
      name: 'items_filter_timeouts_total',
      help: 'Lists answered 400 because their filter took longer than FILTER_TIMEOUT',
    });
    this.filterRejections = metrics.counter({
      name: 'items_filter_rejections_total',
      help: 'Lists answered 503 because those with a filter before them took too long',
    });
    metrics.gauge({ name: 'items_filters_running', help: 'Lists with a filter that are read now' }, () => bulkhead.running);
    metrics.gauge({ name: 'items_filters_waiting', help: 'Lists with a filter that wait for their turn' }, () => bulkhead.queued);
  }

  /**
   * One page of an entity whose `id` is a UUIDv7: newest first, or in another order. Going by what orders the rows, a walk sees each
   * row that existed when it began exactly once, also while others write, and deep pages cost what the first one costs. Of a row
   * whose place in the order changes during the walk, that cannot be said.
   *
   * @param repository - of the entity, as Nest injects it
   * @param query - which page, as validation left it
   * @param options - a base condition, and an order of `defineOrder`
   * @throws Problem 400 for the cursor of a list with other options, and when its filter takes longer than `FILTER_TIMEOUT`; 503 while
   * the database is away
   */
  async findPage<Entity extends { id: string }>(
    repository: Repository<Entity>,
    query: PageQuery<NoInfer<Entity>>,
    options?: ListOptions<NoInfer<Entity>>,
  ): Promise<Page<Entity>> {
    const { limit, cursor: after, filter } = query;
    const { metadata } = repository;
    if (filter && filter.entity !== repository.target) {
      throw new Error(`A list of ${metadata.name} was given a filter of ${filter.entity.name}: give it a PageQueryOf its own.`);
    }
    const scope = options ? scopeOf(metadata, options) : ALL_ROWS;
    if (after && after.scope !== scope.id) {
      throw invalidRequest([{ parameter: 'cursor', ...CURSOR_FAULT }]);
    }
    const { items, last } = filter?.condition
      ? await this.findWithinLimits(repository, filter.condition, query, scope)
      : await this.read(repository, after, (source) => find(source, after, limit, scope));
    if (!last) {
      return { items };
    }
    return { items, nextCursor: encodeCursor({ ...last, scope: scope.id }, filter?.expression ?? '') };
  }

  /**
   * Adds a row to the lists of an entity, as the newest one.
   *
   * @param repository - of an entity with a key `id` of type `uuid`
   * @param values - of all its other columns; those that can be null may be left out
   * @returns the row as it is in the database now
   * @throws Problem 503 while the database is away
   */
  async add<Entity extends { id: string }>(repository: Repository<Entity>, values: Values<Entity>): Promise<Row<Entity>> {
    // An `id` among the values is ignored.
    const row = { ...values, id: newId() };
    await insertRow(repository, row);
    this.database.afterCommit(() => {
      this.created.inc({ table: repository.metadata.tableName });
    });
    return row;
  }

  /** Replicas lag behind, each as it does: a walk that goes on in another one could miss what it has not received yet. */
  private read<Entity extends { id: string }, T>(
    repository: Repository<Entity>,
    after: Position | undefined,
    read: (repository: Repository<Entity>) => Promise<T>,
  ): Promise<T> {
    const from = (manager: EntityManager) => read(manager.getRepository<Entity>(repository.target));
    return after === undefined ? this.database.fromReplica(from) : read(repository);
  }

  private readonly refuse = (): Problem => {
    this.filterRejections.inc({});
    return databaseBusy();
  };

  /**
   * In a transaction whose settings end with it: nothing can be written, the plan is made for the values at hand, and what
   * still costs much costs one processor, for a short time.
   */
  private async findWithinLimits<Entity extends { id: string }>(
    repository: Repository<Entity>,
    condition: Condition,
    { limit, cursor: after, filter }: PageQuery<Entity>,
    scope: ListScope,
  ): Promise<Found<Entity>> {
    const { FILTER_TIMEOUT, DATABASE_STATEMENT_TIMEOUT } = this.configuration;
    const timeout = Math.min(FILTER_TIMEOUT, DATABASE_STATEMENT_TIMEOUT);
    const settings = {
      statement_timeout: Math.round(timeout * 1000),
      // Waiting for a lock is not the filter's fault: it is a 503, as for a database that is away.
      lock_timeout: Math.round(timeout * 500),
      jit: 'off',
      plan_cache_mode: 'force_custom_plan',
      max_parallel_workers_per_gather: 0,
    };
    const request = currentRequest();
    // The embedded database runs statements in this process, which sees nothing else meanwhile.
    const signal = this.database.isEmbedded ? undefined : request?.signal;
    try {
      const findIn = (reader: EntityManager) =>
        findFiltered(reader.getRepository<Entity>(repository.target), condition, after, limit, scope);
      const read = ({ manager }: Repository<Entity>) => readOnly(manager, settings, findIn, signal);
      const task = () => this.read(repository, after, read);
      return await this.bulkhead.run(request?.user?.id ?? '', task, signal, this.refuse);
    } catch (error) {
      if (signal?.aborted && error === signal.reason) {
        throw new Problem(badRequest, 'The client closed its connection before the response.');
      }
      if (sqlState(error) !== QUERY_CANCELED) {
        throw error;
      }
      this.filterTimeouts.inc({});
      this.logger.warn({ msg: 'filter took too long', entity: repository.metadata.name, seconds: timeout });
      throw tooSlow(filter?.expression ?? '', timeout);
    }
  }
}

/** A page without a filter. */
function find<Entity extends { id: string }>(
  repository: Repository<Entity>,
  after: Position | undefined,
  limit: number,
  scope: ListScope,
): Promise<Found<Entity>> {
  return scope === ALL_ROWS
    ? findNewest(repository, after?.id, limit)
    : findByKeys(repository, keyStatements(repository.metadata, undefined, after, limit + 1, scope).planned, limit);
}

function tooSlow(expression: string, seconds: number): Problem {
  const detail = `takes longer than ${seconds} s: add a more selective condition, such as a range of time, an exact value or the start of a text`;
  const fault = { parameter: 'filter', code: 'limit', start: 0, end: codePoints(expression), detail };
  return invalidRequest([fault]);
}
