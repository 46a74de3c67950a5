import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { MigrationsModule } from '../platform/index.js';
import { Item } from './item.entity.js';
import { ItemsController } from './items.controller.js';
import { ItemsService } from './items.service.js';
import { CreateItems1767225600001 } from './migrations/1767225600001-create-items.js';
import { IndexItemNames1767225600002 } from './migrations/1767225600002-index-item-names.js';
import { IndexItemNameTrigrams1767225600003 } from './migrations/1767225600003-index-item-name-trigrams.js';

@Module({
  imports: [
    TypeOrmModule.forFeature([Item]),
    MigrationsModule.forFeature([CreateItems1767225600001, IndexItemNames1767225600002, IndexItemNameTrigrams1767225600003]),
  ],
  controllers: [ItemsController],
  providers: [ItemsService],
})
export class ItemsModule {}
