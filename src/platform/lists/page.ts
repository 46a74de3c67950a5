import type { Type } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, type ApiPropertyOptions } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { documentedProperties } from '../openapi/documented-properties.js';
import type { Versioned } from '../preconditions/entity-tags.js';
import { Converted, DecimalInteger, Parsed, RefusedValue, Rule } from '../validation/rule.js';
import {
  CURSOR_MAXIMUM_LENGTH,
  decodeCursor,
  encodeCursor,
  ORDERED_CURSOR_MAXIMUM_LENGTH,
  type Position,
} from './cursor.js';
import { describeFilter, type Filter, type FilterDefinition, isBlank } from './filter/define-filter.js';
import { FilterError, MAXIMUM_LENGTH } from './filter/parse-expression.js';
import { documentedOrders, type Order } from './list-options.js';

/** The error of a cursor that is not of this list. */
export const CURSOR_FAULT = { code: 'cursor', detail: 'must be an unchanged nextCursor of a list with the same filter' };

const LIMIT_DEFAULT = 20;
const LIMIT_MAXIMUM = 100;

/** Query parameters of any list. Lists with a filter use `PageQueryOf`. */
export class PageQuery<Entity = never> {
  /** Maximum items on the page. */
  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: LIMIT_MAXIMUM,
    default: LIMIT_DEFAULT,
    description: 'Maximum number of results.',
  })
  @DecimalInteger(1, LIMIT_MAXIMUM)
  readonly limit: number = LIMIT_DEFAULT;

  /** The row before the page, decoded from the cursor; undefined for the first page. */
  @ApiPropertyOptional(describeCursor(CURSOR_MAXIMUM_LENGTH))
  @IsOptional()
  @Converted(positionIn)
  @Rule(CURSOR_FAULT.code, CURSOR_FAULT.detail, isPosition)
  readonly cursor?: Position;

  /** Undefined for all rows. */
  declare readonly filter?: Filter<Entity>;
}

/** Query of a filtered list: `class ItemsQuery extends PageQueryOf(itemFilter) {}`. @param order - as in `Lists.findPage` */
export function PageQueryOf<Entity extends object>(
  definition: FilterDefinition<Entity>,
  order?: Order<Entity>,
): Type<PageQuery<Entity>> {
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
  if (order) {
    ApiPropertyOptional(describeCursor(ORDERED_CURSOR_MAXIMUM_LENGTH))(FilteredPageQuery.prototype, 'cursor');
  }
  return FilteredPageQuery;
}

function describeCursor(maxLength: number): ApiPropertyOptions {
  const description =
    'Pagination cursor: the unchanged `nextCursor` of the previous page, with the same text as `filter`. It is opaque and ' +
    'never expires. `limit` may change between pages.';
  return { type: String, maxLength, description };
}

/** Decodes a cursor of a list with the filter of the request. @returns false if it is invalid */
function positionIn(cursor: string, { filter }: { readonly filter?: unknown }): Position | false {
  const expression = typeof filter === 'string' && !isBlank(filter) ? filter : '';
  return decodeCursor(cursor, expression) ?? false;
}

/** Whether a cursor is valid. With an invalid filter, that cannot be verified, and only the filter is reported. */
function isPosition(value: unknown, { filter }: { readonly filter?: unknown }): boolean {
  return typeof value === 'object' || filter instanceof RefusedValue;
}

function parse<Entity extends object>(
  expression: string,
  definition: FilterDefinition<Entity>,
): Filter<Entity> | RefusedValue {
  try {
    return definition.parse(expression);
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    const { code, message: detail } = error;
    // Clients get offsets in code points instead of UTF-16 units.
    const characters = (offset: number) => Array.from(expression.slice(0, offset)).length;
    return new RefusedValue({ code, detail, start: characters(error.start), end: characters(error.end) });
  }
}

/** One page of a list. */
export interface Page<T> {
  /** In list order, at most `limit`. */
  items: T[];
  /** Cursor of the next page; absent on the last page. */
  nextCursor?: string;
}

/** Maps each row of a page, for example to its response. */
export function mapPage<T, Item>(page: Page<T>, map: (row: T) => Item): Page<Item> {
  return { ...page, items: page.items.map((row) => map(row)) };
}

/** Documents a page: `class ItemPage extends PageOf(ItemDto) {}`. @param order - as in `Lists.findPage` */
export function PageOf<T extends object>(item: Type<T>, order?: Order): Type<Page<T>> {
  if (order) {
    const isDocumented = order.column in documentedProperties(item);
    documentedOrders.set(order, isDocumented && documentedOrders.get(order) !== false);
  }
  const sorted = order ? `by ${order.column}, ${order.direction === 'ASC' ? 'ascending' : 'descending'}` : 'newest first';

  class DocumentedPage implements Page<T> {
    @ApiProperty({ type: [item], maxItems: LIMIT_MAXIMUM, description: `The items of this page, ${sorted}.` })
    declare items: T[];

    @ApiPropertyOptional({
      type: String,
      maxLength: order ? ORDERED_CURSOR_MAXIMUM_LENGTH : CURSOR_MAXIMUM_LENGTH,
      example: encodeCursor({ id: '0190163d-8694-739b-aea5-966c26f8ad91', listDigest: '', value: '' }, ''),
      description: 'The `cursor` of the next page. Absent on the last page.',
    })
    declare nextCursor?: string;
  }
  return DocumentedPage;
}

/** The version that TypeORM counts, if the entity has one. */
type Counted<Entity> = Entity extends Versioned ? 'version' : never;

type MethodOf<Entity> = {
  [Name in keyof Entity]: Entity[Name] extends (...given: never[]) => unknown ? Name : never;
}[keyof Entity];

/** Properties that callers do not write. */
type Unwritten<Entity> = 'id' | Counted<Entity> | MethodOf<Entity>;

/** The columns of an entity without `id`; nullable ones and the version are optional. */
export type Values<Entity> = {
  readonly [
    Name in keyof Entity as Name extends Unwritten<Entity> ? never : null extends Entity[Name] ? never : Name
  ]: Entity[Name];
} & {
  readonly [Name in keyof Entity as null extends Entity[Name] ? Name : Name & Counted<Entity>]?: Entity[Name] | undefined;
};

/** A row as it was added. */
export type Row<Entity> = { readonly id: string } & Values<Entity> & Readonly<Pick<Entity, Counted<Entity> & keyof Entity>>;

export type Changes<Entity> = {
  readonly [Name in keyof Entity as Name extends Unwritten<Entity> ? never : Name]?: Entity[Name] | undefined;
};
