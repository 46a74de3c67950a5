import { Injectable } from '@nestjs/common';
import type { Page, PageQuery, Row } from '../platform/index.js';
import type { Item } from './item.entity.js';
import type { CreateItemDto } from './items.dto.js';
import { ItemsRepository } from './items.repository.js';

@Injectable()
export class ItemsService {
  constructor(private readonly items: ItemsRepository) {}

  list(query: PageQuery<Item>): Promise<Page<Item>> {
    return this.items.findPage(query);
  }

  create({ name, description }: CreateItemDto): Promise<Row<Item>> {
    return this.items.add({ name, description });
  }
}
