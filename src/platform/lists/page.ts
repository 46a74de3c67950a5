import type { Type } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { isWhitelisted, markWhitelisted } from '../openapi/documented-properties.js';
import { CURSOR_MAXIMUM_LENGTH, encodeCursor, ORDERED_CURSOR_MAXIMUM_LENGTH } from './cursor.js';
import type { Order } from './order.js';

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
  const sorted = order ? `by ${order.column}, ${order.direction === 'ASC' ? 'ascending' : 'descending'}` : 'newest first';

  class DocumentedPage implements Page<T> {
    @ApiProperty({ type: [item], description: `The items of this page, ${sorted}.` })
    declare items: T[];

    @ApiPropertyOptional({
      type: String,
      maxLength: order ? ORDERED_CURSOR_MAXIMUM_LENGTH : CURSOR_MAXIMUM_LENGTH,
      example: encodeCursor({ id: '0190163d-8694-739b-aea5-966c26f8ad91', scope: '', value: '' }, ''),
      description: 'The `cursor` of the next page. Absent on the last page.',
    })
    declare nextCursor?: string;
  }
  if (isWhitelisted(item)) {
    markWhitelisted(DocumentedPage);
  }
  return DocumentedPage;
}

/** The columns of an entity without `id`; nullable ones are optional. */
export type Values<Entity> = {
  readonly [Name in keyof Entity as Name extends 'id' ? never : null extends Entity[Name] ? never : Name]: Entity[Name];
} & {
  readonly [Name in keyof Entity as null extends Entity[Name] ? Name : never]?: Entity[Name] | undefined;
};

/** A row as it was added. */
export type Row<Entity> = { readonly id: string } & Values<Entity>;
