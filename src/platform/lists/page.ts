import type { Type } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { CURSOR_MAXIMUM_LENGTH, encodeCursor } from './cursor.js';

/** One page of a list. */
export interface Page<T> {
  /** Newest first, at most as many as were asked for. */
  items: T[];
  /** Leads to the next page; absent on the last. */
  nextCursor?: string;
}

/** The same page with each row turned into what the client sees of it. */
export function mapPage<Row, Item>(page: Page<Row>, map: (row: Row) => Item): Page<Item> {
  return { ...page, items: page.items.map((row) => map(row)) };
}

/** A class that documents a page of something: `class ItemPage extends PageOf(ItemDto) {}`. */
export function PageOf<T extends object>(item: Type<T>): Type<Page<T>> {
  class DocumentedPage implements Page<T> {
    @ApiProperty({ type: [item], description: 'The items of this page, newest first.' })
    declare items: T[];

    @ApiPropertyOptional({
      type: String,
      maxLength: CURSOR_MAXIMUM_LENGTH,
      example: encodeCursor('0190163d-8694-739b-aea5-966c26f8ad91', ''),
      description: 'Pass it as `cursor` to get the next page. Absent on the last page.',
    })
    declare nextCursor?: string;
  }
  return DocumentedPage;
}
