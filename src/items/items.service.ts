import { Injectable } from '@nestjs/common';
import { newId, type Page, type PageQuery } from '../platform/index.js';
import type { Item } from './item.entity.js';
import type { CreateItemDto } from './items.dto.js';
import { ItemsRepository } from './items.repository.js';

@Injectable()
export class ItemsService {
  constructor(private readonly items: ItemsRepository) {}

  list(query: PageQuery): Promise<Page<Item>> {
    return this.items.findPage(query);
  }

  async create({ name, description }: CreateItemDto): Promise<Item> {
    const item: Item = { id: newId(), name, description: description ?? null };
    await this.items.insert(item);
    return item;
  }
}
