import { Module } from '@nestjs/common';
import { ItemsModule } from './items/items.module.js';
import { PlatformModule } from './platform/platform.module.js';

/** The platform and the features. Add a line for each new feature. */
@Module({
  imports: [PlatformModule, ItemsModule],
})
export class AppModule {}
