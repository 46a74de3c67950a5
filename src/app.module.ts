import { Module } from '@nestjs/common';
import { ItemsModule } from './items/items.module.js';
import { PlatformModule } from './platform/platform.module.js';

/** The platform and the features on it. A new feature is one more line here. */
@Module({
  imports: [PlatformModule, ItemsModule],
})
export class AppModule {}
