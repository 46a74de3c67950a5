import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { Lists, type Page, type PageQuery, type Row } from '../platform/index.js';
import { Item } from './item.entity.js';
import type { CreateItemDto } from './items.dto.js';

@Injectable()
export class ItemsService {
  constructor(
    @InjectRepository(Item) private readonly items: Repository<Item>,
    private readonly lists: Lists,
  ) {}

  list(query: PageQuery<Item>): Promise<Page<Item>> {
    return this.lists.findPage(this.items, query);
  }

  create({ name, description }: CreateItemDto): Promise<Row<Item>> {
    return this.lists.insert(this.items, { name, description });
  }
}
