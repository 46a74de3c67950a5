import { Injectable } from '@nestjs/common';
import { Database, findPage, type Page, type PageQuery } from '../platform/index.js';
import { Item } from './item.entity.js';

@Injectable()
export class ItemsRepository {
  constructor(private readonly database: Database) {}

  findPage(query: PageQuery): Promise<Page<Item>> {
    return findPage(this.database.repository(Item), query);
  }

  async insert(item: Item): Promise<void> {
    await this.database.repository(Item).insert(item);
  }
}
