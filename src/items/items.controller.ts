import { Body, Controller, Get, HttpStatus, Post, Query } from '@nestjs/common';
import { Idempotent, mapPage, Operation, type Page, RequireScopes, ApiTag } from '../platform/index.js';
import { CreateItemDto, ItemDto, ItemPage, ItemsQuery } from './items.dto.js';
import { ItemsService } from './items.service.js';

@ApiTag({
  name: 'Items',
  description: 'Named items, listed newest first. They cannot be changed or deleted.',
})
@Controller('items')
export class ItemsController {
  constructor(private readonly items: ItemsService) {}

  @Get()
  @RequireScopes('items:read')
  @Operation({
    summary: 'List items',
    description: 'Newest first. Items that are created while you read the pages cause neither duplicates nor gaps.',
    response: ItemPage,
    responseDescription: 'One page of items.',
  })
  async listItems(@Query() query: ItemsQuery): Promise<Page<ItemDto>> {
    return mapPage(await this.items.list(query), ItemDto.from);
  }

  @Post()
  @RequireScopes('items:write')
  @Idempotent()
  @Operation({
    summary: 'Create an item',
    status: HttpStatus.CREATED,
    response: ItemDto,
    responseDescription: 'The created item.',
  })
  async createItem(@Body() body: CreateItemDto): Promise<ItemDto> {
    return ItemDto.from(await this.items.create(body));
  }
}
