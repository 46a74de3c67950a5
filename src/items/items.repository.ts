import { Injectable } from '@nestjs/common';
import { Database, Lists, type Page, type PageQuery } from '../platform/index.js';
import { Item } from './item.entity.js';

@Injectable()
export class ItemsRepository {
  constructor(
    private readonly database: Database,
    private readonly lists: Lists,
  ) {}

  findPage(query: PageQuery): Promise<Page<Item>> {
    return this.lists.findPage(Item, query);
  }

  async insert(item: Item): Promise<void> {
    await this.database.repository(Item).insert(item);
  }
}
