import {
  Controller,
  Get,
  Injectable,
  type MiddlewareConsumer,
  Module,
  type NestModule,
  Req,
  UseGuards,
} from '@nestjs/common';
import { AuthGuard, PassportModule, PassportStrategy } from '@nestjs/passport';
import { ApiExcludeController } from '@nestjs/swagger';
import type { NextFunction, Request, Response } from 'express';
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

@ApiExcludeController()
@Public()
@Controller('visits')
class VisitsController {
  @Get()
  show(@Req() { user }: Request) {
    return user;
  }
}

@Module({ imports: [PassportModule], providers: [PartnerStrategy], controllers: [PartnersController, VisitsController] })
class PartnersModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    // As `passport.session()`, which takes the user from a session.
    const setUser = (request: Request, _response: Response, next: NextFunction) => {
      Object.assign(request, { user: { userId: Number(request.headers['x-user-id']) } });
      next();
    };
    consumer.apply(setUser).forRoutes(VisitsController);
  }
}

@Module({ imports: [PlatformModule, ItemsModule, PartnersModule] })
class Root {}

const service = useService(() => startService({ RATE_LIMIT: '10' }, undefined, Root));

it('a strategy of a feature for bearer tokens checks its own, beside that of the platform [passport-apart]', async () => {
  const send = (token?: string) =>
    service.api.send('GET', '/v1/partners', token === undefined ? {} : { headers: { Authorization: `Bearer ${token}` } });
  expect(await send('partner-key')).toMatchObject({ status: 200, body: { partner: 'Acme' } });
  for (const refused of [undefined, 'other-key', service.api.token]) {
    expect([refused, (await send(refused)).status]).toEqual([refused, 401]);
  }
  expect((await service.api.list()).status).toBe(200);
});

it('users whom middleware of a feature finds share no rate limit on a public route [passport-apart]', async () => {
  for (let sent = 0; sent < 11; sent += 1) {
    const { status, body, headers } = await service.api.send('GET', '/v1/visits', { headers: { 'X-User-Id': '7' } });
    expect([status, body, headers.get('ratelimit')]).toEqual([200, { userId: 7 }, null]);
  }
});
