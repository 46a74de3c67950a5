import type { EntityMetadata, ObjectLiteral } from 'typeorm';
import { boundsKey, type Condition, conjuncts, keyComparison } from './filter/condition.js';
import { conditionSql } from './filter/condition-sql.js';
import { quotedTable } from '../database/table-name.js';

/** A statement with named parameters, as TypeORM takes them. */
export interface Statement {
  readonly sql: string;
  readonly parameters: ObjectLiteral;
}

/** Rows that `recent` looks at. */
export const WINDOW = 10_000;

/** Several statements that find the same thing, the keys of the rows of one page, in ways that differ in cost. */
export class KeyStatements {
  /** What bounds a walk along the primary key. */
  private readonly bounds: readonly Condition[];
  /** What must be looked at in every row, or found with another index. */
  private readonly rest: readonly Condition[];

  /**
   * @param metadata - of an entity whose key is `id`, a UUIDv7
   * @param after - key of the row after which the page begins, if it is not the first
   * @param count - rows wanted
   */
  constructor(
    private readonly metadata: EntityMetadata,
    condition: Condition,
    after: string | undefined,
    private readonly count: number,
  ) {
    const parts = conjuncts(condition);
    this.bounds = [...parts.filter(boundsKey), ...(after === undefined ? [] : [keyComparison('<', after)])];
    this.rest = [...parts.filter((part) => !boundsKey(part)), ...this.presence()];
  }

  /** What TypeORM adds to every query of an entity with a `@DeleteDateColumn`: rows that it hides must not be counted. */
  private presence(): Condition[] {
    const { deleteDateColumn } = this.metadata;
    return deleteDateColumn
      ? [
          {
            kind: 'absence',
            operand: { field: deleteDateColumn.propertyName, type: 'timestamp', nullable: true, lowerAscii: false },
          },
        ]
      : [];
  }

  /** Whether the primary key alone answers it. */
  get needKeyAlone(): boolean {
    return this.rest.length === 0;
  }

  /** The keys of all rows that match, of any page. */
  all(): Statement {
    return this.statement((where) => `SELECT ${this.key} FROM ${this.table} r ${where(this.rest)}`);
  }

  /** As the planner likes, which often is to walk along the primary key until enough rows matched. */
  planned(): Statement {
    return this.statement((where) =>
      this.newest(`SELECT ${this.key} FROM ${this.table} r ${where([...this.bounds, ...this.rest])}`),
    );
  }

  /** Among the newest rows only: it may miss some, and its cost has a bound. */
  recent(): Statement {
    return this.statement((where) => {
      const rows = `SELECT * FROM ${this.table} r ${where(this.bounds)} ORDER BY ${this.key} DESC LIMIT ${WINDOW}`;
      return this.newest(`SELECT ${this.key} FROM (${rows}) r ${where(this.rest)}`);
    });
  }

  /** Finding all rows that match, and then the newest of them: `OFFSET 0` keeps the planner from walking instead. */
  fenced(): Statement {
    return this.statement((where) => {
      const matches = `SELECT ${this.key} FROM ${this.table} r ${where([...this.bounds, ...this.rest])} OFFSET 0`;
      return this.newest(`SELECT ${this.key} FROM (${matches}) r`);
    });
  }

  private newest(select: string): string {
    return `${select} ORDER BY ${this.key} DESC LIMIT ${this.count}`;
  }

  private statement(write: (where: (conditions: readonly Condition[]) => string) => string): Statement {
    const parameters: ObjectLiteral = {};
    const names = {
      column: (property: string) => `r.${this.column(property)}`,
      parameter: (value: unknown) => {
        const name = `filter${Object.keys(parameters).length}`;
        parameters[name] = value;
        return `:${name}`;
      },
    };
    const sql = write((conditions) =>
      conditions.length > 0 ? `WHERE ${conditions.map((condition) => conditionSql(condition, names)).join(' AND ')}` : '',
    );
    return { sql, parameters };
  }

  private get key(): string {
    return `r.${this.column('id')}`;
  }

  private get table(): string {
    return quotedTable(this.metadata);
  }

  private column(property: string): string {
    const column = this.metadata.findColumnWithPropertyName(property);
    if (!column) {
      throw new Error(`${this.metadata.name} has no column ${property}: give its lists a filter that was defined for it.`);
    }
    return this.quote(column.databaseName);
  }

  private quote(name: string): string {
    return this.metadata.dataSource.driver.escape(name);
  }
}
