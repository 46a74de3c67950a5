import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import type { QueryDeepPartialEntity, Repository } from 'typeorm';
import { Database } from '../database/database.js';
import { newId } from '../ids/id.js';
import { invalidRequest } from '../problems/problem.js';
import { Metrics } from '../observability/metrics.js';
import type { Versioned } from '../preconditions/entity-tags.js';
import type { Precondition } from '../preconditions/precondition.js';
import { entityOf, rejectChange, rowWith } from './change-row.js';
import { findFiltered } from './find-filtered.js';
import type { ListOptions } from './list-options.js';
import { ALL_ROWS, restrictionOf } from './list-restriction.js';
import { PageReader } from './page-reader.js';
import { type Changes, CURSOR_FAULT, type Page, type PageQuery, type Row, type Values } from './page.js';
import { checkIndexes } from './required-indexes.js';
import { findIndependentTables, insertRow } from './insert-row.js';
import { statementForFirst, pageOf, statementsOf } from './rows.js';
import type { PageRead } from './slow-reads.js';
import { sourcesOf } from './sources.js';

/** Reads lists in pages, and adds, changes and removes their rows. */
@Injectable()
export class Lists {
  private readonly created: Counter<'table'>;

  constructor(
    private readonly database: Database,
    private readonly reads: PageReader,
    metrics: Metrics,
  ) {
    database.addCheck(checkIndexes);
    database.addCheck(findIndependentTables);
    const help = 'Rows added to a list and committed, by table';
    this.created = metrics.counter({ name: 'rows_created_total', help, labels: { table: [] } });
  }

  /**
   * One page of an entity whose `id` is a UUIDv7, newest first or in another order. Reading all pages returns each row that
   * existed at the start exactly once, unless its sort value changes. Deep pages cost as much as the first one.
   *
   * @throws Problem 400 for a cursor of other options, or if the filter exceeds `FILTER_TIMEOUT`; 429 if the slow filters of
   * the token have used up `FILTER_BUDGET`; 503 if the database is unavailable
   */
  async findPage<Entity extends { id: string }>(
    repository: Repository<Entity>,
    query: PageQuery<NoInfer<Entity>>,
    options?: ListOptions<NoInfer<Entity>>,
  ): Promise<Page<Entity>> {
    const { cursor: after, filter } = query;
    const { metadata } = repository;
    if (filter && filter.entity !== repository.target) {
      throw new Error(
        `The list of ${metadata.name} has a filter of ${filter.entity.name}: use a PageQueryOf a ${metadata.name} filter.`,
      );
    }
    const restriction = options ? restrictionOf(metadata, options) : ALL_ROWS;
    if (after && after.listDigest !== restriction.digest) {
      throw invalidRequest([{ parameter: 'cursor', ...CURSOR_FAULT }]);
    }
    const sources = sourcesOf(metadata, query, restriction);
    const key = `${metadata.tablePath} ${restriction.digest} ${filter?.expression ?? ''}`;
    // On a replica that lags, later pages could miss rows, and rows that TypeORM reads by their keys could have changed.
    const mayLag = !after && statementsOf(repository) !== undefined;
    const list: PageRead<Entity> = { repository, key, replica: mayLag ? this.database.replica : undefined };
    const found = filter?.condition
      ? await findFiltered(list, sources, filter.expression, this.reads)
      : await this.reads.page(list, restriction === ALL_ROWS, statementForFirst(repository, sources, 'planned'));
    return pageOf(repository, found, query, restriction);
  }

  /**
   * Inserts a row as the newest one, without related entities. Nullable columns are optional.
   *
   * @returns the row as it was given, with its `id`, its version and what listeners set: omitted columns stay undefined
   * @throws the error of the database, which clients get as a problem
   */
  async insert<Entity extends { id: string }>(repository: Repository<Entity>, values: Values<Entity>): Promise<Row<Entity>> {
    const { tableName, versionColumn } = repository.metadata;
    // The new id replaces an `id` among the values. TypeORM begins with the version 1.
    const row = { ...values, id: newId(), ...(versionColumn && { [versionColumn.propertyName]: 1 }) } as Row<Entity>;
    await insertRow(repository, row);
    this.database.afterCommit(() => this.created.inc({ table: tableName }));
    return row;
  }

  /**
   * Changes a row of an entity with a version column, in one statement. Without a precondition, the last writer wins. Like
   * `update` of TypeORM, it calls no listeners of the entity.
   *
   * @param changes - undefined properties do not change
   * @throws Problem 412 if the row is not as the client demands, 404 if there is none, 503 if the database is unavailable
   */
  async update<Entity extends Versioned>(
    repository: Repository<Entity>,
    id: string,
    changes: Changes<NoInfer<Entity>>,
    precondition: Precondition = {},
  ): Promise<Entity> {
    // TypeORM increments the version, even if a client has sent one.
    const values = { ...changes, id: undefined, version: undefined } as QueryDeepPartialEntity<Entity>;
    const result = await repository.update(rowWith(repository, id, precondition), values, { returning: '*' });
    const [row] = result.raw as Record<string, unknown>[];
    return row ? entityOf(repository, id, row) : rejectChange(repository, id, precondition);
  }

  /** Deletes a row of an entity with a version column, with the conditions and errors of {@link update}. */
  async remove<Entity extends Versioned>(
    repository: Repository<Entity>,
    id: string,
    precondition: Precondition = {},
  ): Promise<void> {
    const { affected } = await repository.delete(rowWith(repository, id, precondition));
    if (affected === 0) {
      await rejectChange(repository, id, precondition);
    }
  }
}
