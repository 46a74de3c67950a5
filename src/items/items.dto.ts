import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { creationTime, PageOf, PageQueryOf, Text } from '../platform/index.js';
import type { Item } from './item.entity.js';
import { itemFilter } from './item.filter.js';

const example = {
  id: '0190163d-8694-739b-aea5-966c26f8ad91',
  name: 'Blue bicycle',
  description: 'Seven gears, one bell.',
  createdAt: '2024-06-14T10:14:09.300Z',
};

export class CreateItemDto {
  @Text({ description: 'Name of the item.', example: example.name, maximumLength: 255, notBlank: true })
  declare readonly name: string;

  @Text({ description: 'Free text about it.', example: example.description, maximumLength: 4096, optional: true })
  declare readonly description?: string | null;
}

export class ItemDto {
  @ApiProperty({ type: String, description: 'Identifier of the item, assigned by the service. Opaque.', example: example.id })
  declare readonly id: string;

  @ApiProperty({ type: String, description: 'Name of the item.', example: example.name })
  declare readonly name: string;

  @ApiPropertyOptional({
    type: String,
    description: 'Free text about it. Absent when it has none.',
    example: example.description,
  })
  declare readonly description?: string;

  @ApiProperty({ type: String, format: 'date-time', description: 'When it was created, UTC.', example: example.createdAt })
  declare readonly createdAt: string;

  static from(this: void, { id, name, description }: Item): ItemDto {
    return { id, name, ...(description !== null && { description }), createdAt: creationTime(id).toISOString() };
  }
}

export class ItemPage extends PageOf(ItemDto) {}

export class ItemsQuery extends PageQueryOf(itemFilter) {}
