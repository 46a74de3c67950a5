import type { Type } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { Converted, DecimalInteger, Parsed, RefusedValue } from '../validation/parsed.decorator.js';
import { Rule } from '../validation/rule.js';
import { CURSOR_MAXIMUM_LENGTH, decodeCursor } from './cursor.js';
import { describeFilter, type Filter, type FilterDefinition, isBlank } from './filter/define-filter.js';
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

  /** Key of the row after which the page begins, read from the cursor; undefined for the first page. */
  @ApiPropertyOptional({
    type: String,
    maxLength: CURSOR_MAXIMUM_LENGTH,
    description:
      'Pagination cursor: the `nextCursor` of the page before, unchanged and with the same `filter`. It is opaque, never expires and grants nothing; `limit` may change between pages.',
  })
  @IsOptional()
  @Converted(keyIn)
  @Rule('cursor', 'must be the nextCursor of a list with the same filter, unchanged', isKey)
  readonly cursor?: string;

  /** What the rows of the list have in common; undefined for all rows. */
  declare readonly filter?: Filter<Entity>;
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
    declare readonly filter?: Filter<Entity>;
  }
  return FilteredPageQuery;
}

/** A cursor belongs to the filter as the client wrote it. */
function keyIn(cursor: string, { filter }: { readonly filter?: unknown }): string | false {
  const expression = typeof filter === 'string' && !isBlank(filter) ? filter : '';
  return decodeCursor(cursor, expression) ?? false;
}

/** With a filter that is itself at fault, nothing can be said of the cursor. */
function isKey(value: unknown, { filter }: { readonly filter?: unknown }): boolean {
  return typeof value === 'string' || filter instanceof RefusedValue;
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
