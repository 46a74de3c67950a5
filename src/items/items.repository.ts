import { Injectable } from '@nestjs/common';
import { Lists, type Page, type PageQuery, type Row, type Values } from '../platform/index.js';
import { Item } from './item.entity.js';

@Injectable()
export class ItemsRepository {
  constructor(private readonly lists: Lists) {}

  findPage(query: PageQuery<Item>): Promise<Page<Item>> {
    return this.lists.findPage(Item, query);
  }

  add(values: Values<Item>): Promise<Row<Item>> {
    return this.lists.add(Item, values);
  }
}
