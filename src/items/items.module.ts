import { Module } from '@nestjs/common';
import { DatabaseModule } from '../platform/index.js';
import { Item } from './item.entity.js';
import { ItemsController } from './items.controller.js';
import { ItemsRepository } from './items.repository.js';
import { ItemsService } from './items.service.js';
import { CreateItems1767225600001 } from './migrations/1767225600001-create-items.js';

@Module({
  imports: [DatabaseModule.forFeature({ entities: [Item], migrations: [CreateItems1767225600001] })],
  controllers: [ItemsController],
  providers: [ItemsService, ItemsRepository],
})
export class ItemsModule {}
