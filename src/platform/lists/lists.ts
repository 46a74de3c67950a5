import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import type { EntityManager, Repository } from 'typeorm';
import { Database } from '../database/database.js';
import { newId } from '../database/id.js';
import { invalidRequest } from '../http/invalid-request.js';
import { Metrics } from '../observability/metrics.js';
import { encodeCursor, type Position } from './cursor.js';
import { FilteredReads } from './filtered-reads.js';
import { findFiltered, sourcesOf } from './find-filtered.js';
import { ALL_ROWS, type ListOptions, type ListScope, scopeOf } from './list-scope.js';
import { checkOrders } from './order.js';
import type { Page, Row, Values } from './page.js';
import { CURSOR_FAULT, type PageQuery } from './page-query.js';
import { findIndependentTables, insertRow } from './insert-row.js';
import { findFirst, findNewest, type Found } from './rows.js';

/** Reads lists page by page. */
@Injectable()
export class Lists {
  private readonly created: Counter<'table'>;

  constructor(
    private readonly database: Database,
    private readonly filteredReads: FilteredReads,
    metrics: Metrics,
  ) {
    database.addCheck(checkOrders);
    database.addCheck(findIndependentTables);
    this.created = new Counter({
      name: 'items_rows_created_total',
      help: 'Rows added to a list and committed, by its table',
      labelNames: ['table'],
      registers: [metrics.registry],
    });
  }

  /**
   * One page of an entity whose `id` is a UUIDv7: newest first, or in another order. A walk sees each row that existed when it began
   * exactly once, unless its place in the order changes meanwhile. Deep pages cost as much as the first one.
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
    const { cursor: after, filter } = query;
    const { metadata } = repository;
    if (filter && filter.entity !== repository.target) {
      throw new Error(`A list of ${metadata.name} was given a filter of ${filter.entity.name}: give it a PageQueryOf its own.`);
    }
    const scope = options ? scopeOf(metadata, options) : ALL_ROWS;
    if (after && after.scope !== scope.id) {
      throw invalidRequest([{ parameter: 'cursor', ...CURSOR_FAULT }]);
    }
    const { items, last } = await this.read(repository, after, (source) => this.find(source, query, scope));
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

  /** First pages alone: a walk that goes on in a replica that lags behind could miss rows. */
  private read<Entity extends { id: string }, T>(
    repository: Repository<Entity>,
    after: Position | undefined,
    read: (repository: Repository<Entity>) => Promise<T>,
  ): Promise<T> {
    const from = (manager: EntityManager) => read(manager.getRepository<Entity>(repository.target));
    return after === undefined ? this.database.fromReplica(from) : read(repository);
  }

  private async find<Entity extends { id: string }>(
    repository: Repository<Entity>,
    { limit, cursor: after, filter }: PageQuery<Entity>,
    scope: ListScope,
  ): Promise<Found<Entity>> {
    const { metadata } = repository;
    if (filter?.condition) {
      const { condition, expression } = filter;
      const find = () => findFiltered(repository, { condition, expression }, { after, limit, scope }, this.filteredReads);
      return find().catch((error: unknown) => this.filteredReads.explainFailure(error, { name: metadata.name, expression }));
    }
    const newest = scope === ALL_ROWS ? findNewest(repository, after?.id, limit) : undefined;
    return newest ?? findFirst(repository, sourcesOf(metadata, undefined, after, limit, scope).planned);
  }
}
