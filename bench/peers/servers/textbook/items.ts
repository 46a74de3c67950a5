import { BadRequestException, Body, Controller, Get, Inject, Injectable, Post, Query } from '@nestjs/common';
import { Transform, Type } from 'class-transformer';
import { IsInt, IsNotEmpty, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';
import {
  BeforeInsert,
  Column,
  CreateDateColumn,
  Entity,
  type FindOptionsWhere,
  LessThan,
  Like,
  PrimaryColumn,
  Repository,
} from 'typeorm';
import { v7 } from 'uuid';

export const ITEMS = 'ItemRepository';

/** The only filter that the workloads use, and the only one that is supported here. */
const FILTER = /^name\.contains\("([^"\\%_]*)"\)$/;

@Entity('items')
export class Item {
  @PrimaryColumn('uuid')
  declare id: string;

  @Column('text')
  declare name: string;

  @Transform(({ value }: { value: string | null }) => value ?? undefined)
  @Column('text', { nullable: true })
  declare description: string | null;

  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' })
  declare createdAt: Date;

  @BeforeInsert()
  identify(): void {
    this.id = v7();
  }
}

export class CreateItemDto {
  @IsString()
  @IsNotEmpty()
  @MaxLength(255)
  declare name: string;

  @IsOptional()
  @IsString()
  @MaxLength(4096)
  declare description?: string | null;
}

export class ItemsQuery {
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(100)
  limit = 20;

  @IsOptional()
  @IsString()
  @MaxLength(512)
  declare cursor?: string;

  @IsOptional()
  @IsString()
  declare filter?: string;
}

export class ItemsPage {
  declare items: Item[];
  declare nextCursor?: string;
}

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

function matching(filter: string): FindOptionsWhere<Item> {
  const word = FILTER.exec(filter)?.[1];
  if (word === undefined) {
    throw new BadRequestException('The filter is not supported here.');
  }
  return { name: Like(`%${word}%`) };
}

function decode(cursor: string): string {
  const id = Buffer.from(cursor, 'base64url').toString();
  if (!/^[0-9a-f-]{36}$/.test(id)) {
    throw new BadRequestException('The cursor is invalid.');
  }
  return id;
}
