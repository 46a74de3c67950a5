import type { Type } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { DecimalInteger, Parsed, RefusedValue } from '../validation/parsed.decorator.js';
import { Rule } from '../validation/rule.js';
import { CURSOR_MAXIMUM_LENGTH, decodeCursor } from './cursor.js';
import { describeFilter, type Filter, type FilterDefinition } from './filter/define-filter.js';
import { FilterError, MAXIMUM_LENGTH } from './filter/parse-expression.js';

const LIMIT_DEFAULT = 20;
const LIMIT_MAXIMUM = 100;

/** Query parameters of the lists of any entity. Those of a list that can be filtered are a `PageQueryOf` its filter. */
export class PageQuery<Entity = never> {
  /** Items on a page, at most. */
  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: LIMIT_MAXIMUM,
    default: LIMIT_DEFAULT,
    description: 'Maximum number of results.',
  })
  @DecimalInteger(1, LIMIT_MAXIMUM)
  readonly limit: number = LIMIT_DEFAULT;

  /** Where the page begins; see {@link PageQuery.after}. */
  @ApiPropertyOptional({
    type: String,
    maxLength: CURSOR_MAXIMUM_LENGTH,
    description:
      'Pagination cursor: the `nextCursor` of the page before, unchanged and with the same `filter`. It is opaque, never expires and grants nothing; `limit` may change between pages.',
  })
  @IsOptional()
  @Rule('cursor', 'must be the nextCursor of a list with the same filter, unchanged', isCursor)
  readonly cursor?: string;

  /** What the rows of the list have in common; undefined for all rows. */
  get filtered(): Filter<Entity> | undefined {
    return undefined;
  }

  /** The filter as the client wrote it, which the cursors of the list belong to; empty for none. */
  get filterExpression(): string {
    return this.filtered?.expression ?? '';
  }

  /** Key of the row after which the page begins; undefined for the first page. */
  get after(): string | undefined {
    return this.cursor === undefined ? undefined : keyIn(this.cursor, this);
  }
}

/** Whether it is one cannot be known while the filter, which it depends on, is itself at fault. */
function isCursor(value: unknown, query: object): boolean {
  if ('filter' in query && query.filter instanceof RefusedValue) {
    return true;
  }
  return typeof value === 'string' && keyIn(value, query as PageQuery) !== undefined;
}

/** The keys in cursors, so that each is decoded once. */
const keys = new WeakMap<object, { readonly cursor: string; readonly key: string | undefined }>();

function keyIn(cursor: string, query: Pick<PageQuery<unknown>, 'filterExpression'>): string | undefined {
  const known = keys.get(query);
  if (known?.cursor === cursor) {
    return known.key;
  }
  const key = decodeCursor(cursor, query.filterExpression);
  keys.set(query, { cursor, key });
  return key;
}

/** Query parameters of a list that can be filtered: `class ItemsQuery extends PageQueryOf(itemFilter) {}`. */
export function PageQueryOf<Entity extends object>(definition: FilterDefinition<Entity>): Type<PageQuery<Entity>> {
  class FilteredPageQuery extends PageQuery<Entity> {
    @ApiPropertyOptional({
      type: String,
      maxLength: MAXIMUM_LENGTH,
      description: describeFilter(definition),
      examples: Object.fromEntries(
        Object.entries({ 'No filter': '', ...definition.examples }).map(([summary, value]) => [summary, { value }]),
      ),
    })
    @IsOptional()
    @Parsed((expression) => parse(expression, definition))
    readonly filter?: Filter<Entity> | RefusedValue;

    override get filtered(): Filter<Entity> | undefined {
      return this.filter instanceof RefusedValue ? undefined : this.filter;
    }
  }
  return FilteredPageQuery;
}

function parse<Entity extends object>(expression: string, definition: FilterDefinition<Entity>): Filter<Entity> | RefusedValue {
  try {
    return definition.parse(expression);
  } catch (error) {
    if (error instanceof FilterError) {
      const { code, message: detail, start, end } = error;
      return new RefusedValue({ code, detail, start, end });
    }
    throw error;
  }
}
