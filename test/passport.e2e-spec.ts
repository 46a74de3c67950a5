import { Controller, Get, Injectable, Module, Req, UseGuards } from '@nestjs/common';
import { AuthGuard, PassportModule, PassportStrategy } from '@nestjs/passport';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request } from 'express';
import { Strategy } from 'passport-http-bearer';
import { ItemsModule } from '../src/items/items.module.js';
import { Public } from '../src/platform/index.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { startService } from './support/service.js';
import { useService } from './support/use-service.js';

// Passport in a feature, as in docs.nestjs.com, beside that of the platform.

/** With the name that the library gives it, `bearer`. */
@Injectable()
class PartnerStrategy extends PassportStrategy(Strategy) {
  validate(key: string) {
    return key === 'partner-key' && { partner: 'Acme' };
  }
}

@ApiExcludeController()
@Public()
@Controller('partners')
class PartnersController {
  @UseGuards(AuthGuard('bearer'))
  @Get()
  show(@Req() { user }: Request) {
    return user;
  }
}

@Module({ imports: [PassportModule], providers: [PartnerStrategy], controllers: [PartnersController] })
class PartnersModule {}

@Module({ imports: [PlatformModule, ItemsModule, PartnersModule] })
class Root {}

const service = useService(() => startService({}, undefined, Root));

it('a strategy of a feature for bearer tokens checks its own, beside that of the platform', async () => {
  const send = (token?: string) =>
    service.api.send('GET', '/v1/partners', token === undefined ? {} : { headers: { Authorization: `Bearer ${token}` } });
  expect(await send('partner-key')).toMatchObject({ status: 200, body: { partner: 'Acme' } });
  for (const refused of [undefined, 'other-key', service.api.token]) {
    expect([refused, (await send(refused)).status]).toEqual([refused, 401]);
  }
  expect((await service.api.list()).status).toBe(200);
});
