import { ApiSchema } from '@nestjs/swagger';
import { ResponseOf, PageOf, PageQueryOf, Text } from '../platform/index.js';
import { itemFilter } from './item.filter.js';

@ApiSchema({ name: 'NewItem' })
export class CreateItemDto {
  @Text({ description: 'Name of the item.', example: 'Blue bicycle', maximumLength: 255, notBlank: true })
  declare readonly name: string;

  @Text({ description: 'Description of the item.', example: 'Seven gears, one bell.', maximumLength: 4096, optional: true })
  declare readonly description?: string | null;
}

@ApiSchema({ name: 'Item' })
export class ItemDto extends ResponseOf(CreateItemDto) {
  declare readonly name: string;
  declare readonly description?: string;
}

export class ItemPage extends PageOf(ItemDto) {}

export class ItemsQuery extends PageQueryOf(itemFilter) {}
