import { Injectable } from '@nestjs/common';
import { Lists, type Page, type PageQuery, type Row } from '../platform/index.js';
import { Item } from './item.entity.js';
import type { CreateItemDto } from './items.dto.js';

@Injectable()
export class ItemsService {
  constructor(private readonly lists: Lists) {}

  list(query: PageQuery<Item>): Promise<Page<Item>> {
    return this.lists.findPage(Item, query);
  }

  create({ name, description }: CreateItemDto): Promise<Row<Item>> {
    return this.lists.add(Item, { name, description });
  }
}
