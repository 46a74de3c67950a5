import { Module } from '@nestjs/common';
import { ItemsModule } from '../../src/items/items.module.js';
import { PlatformModule } from '../../src/platform/platform.module.js';
import { WidgetsModule } from '../fixtures/widgets/widgets.module.js';
import { changeInPairs, type Widget } from '../support/change-in-pairs.js';
import { startService } from '../support/service.js';

@Module({ imports: [PlatformModule, ItemsModule, WidgetsModule] })
class OtherTeamsModule {}

it('lets one of two clients of two instances change a row, and tells the other one [lost-update]', async () => {
  const service = await startService({ RATE_LIMIT: '10000' }, undefined, OtherTeamsModule);
  const other = await startService({ RATE_LIMIT: '10000' }, service.database, OtherTeamsModule);
  try {
    const { body } = await service.api.callWith<Widget>('POST', '/v1/widgets', { name: 'Bell', price: 0, size: 'small' });
    await changeInPairs([service.api, other.api], `/v1/widgets/${body.id}`, 50);
  } finally {
    await other.stop();
    await service.stop();
  }
});
