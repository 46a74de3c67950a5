import type { Type } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { Parsed, RefusedValue } from '../validation/parsed.decorator.js';
import type { Filter, FilterDefinition } from './filter/define-filter.js';
import { describeFilter } from './filter/describe-filter.js';
import { FilterError } from './filter/filter-error.js';
import { MAXIMUM_LENGTH } from './filter/parse-expression.js';
import { PageQuery } from './page-query.js';

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
