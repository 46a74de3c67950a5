import { Type } from 'class-transformer';
import { IsInt, IsNotEmpty, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';
import type { Item } from './item.entity.js';

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
