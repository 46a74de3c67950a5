import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import type { Item } from './item.entity.js';
import { CreateItemDto, type ItemsPage, ItemsQuery } from './items.dto.js';
import { ItemsService } from './items.service.js';

@Controller('v1/items')
export class ItemsController {
  constructor(private readonly items: ItemsService) {}

  @Get()
  listItems(@Query() query: ItemsQuery): Promise<ItemsPage> {
    return this.items.list(query);
  }

  @Post()
  createItem(@Body() body: CreateItemDto): Promise<Item> {
    return this.items.create(body);
  }
}
