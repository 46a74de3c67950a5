import type { Type } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { isWhitelisted, markWhitelisted } from '../openapi/documented-properties.js';
import { CURSOR_MAXIMUM_LENGTH, encodeCursor } from './cursor.js';

/** One page of a list. */
export interface Page<T> {
  /** Newest first, at most as many as were asked for. */
  items: T[];
  /** Leads to the next page; absent on the last. */
  nextCursor?: string;
}

/** The same page with each row turned into what the client sees of it. */
export function mapPage<T, Item>(page: Page<T>, map: (row: T) => Item): Page<Item> {
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
  if (isWhitelisted(item)) {
    markWhitelisted(DocumentedPage);
  }
  return DocumentedPage;
}

/** The columns of an entity but for its key: those that can be null may be left out. */
export type Values<Entity> = {
  readonly [Name in keyof Entity as Name extends 'id' ? never : null extends Entity[Name] ? never : Name]: Entity[Name];
} & {
  readonly [Name in keyof Entity as null extends Entity[Name] ? Name : never]?: Entity[Name] | undefined;
};

/** A row of an entity, as it was added. */
export type Row<Entity> = { readonly id: string } & Values<Entity>;
