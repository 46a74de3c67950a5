import { Controller, Get, Module } from '@nestjs/common';
import { AppModule } from '../src/app.module.js';
import { AccessTokensService } from '../src/platform/auth/access-tokens.service.js';
import { CurrentPrincipal, type Principal, Public, RequireScopes } from '../src/platform/index.js';
import { Api } from './support/api.js';
import { IdentityProvider } from './support/identity-provider.js';
import { type Service, startService, TESTER } from './support/service.js';

@Controller('callers')
@RequireScopes('callers')
class CallersController {
  @Get('me')
  readCaller(@CurrentPrincipal() caller: Principal): Principal {
    return caller;
  }
}

@Controller('strangers')
@Public()
class StrangersController {
  @Get()
  readCaller(@CurrentPrincipal() caller: Principal): Principal {
    return caller;
  }
}

@Module({ imports: [AppModule], controllers: [CallersController, StrangersController] })
class CallersModule {}

let service: Service;
let provider: IdentityProvider;

beforeAll(async () => {
  provider = await IdentityProvider.start();
  service = await startService(provider.environment, undefined, CallersModule);
});

afterAll(async () => {
  await service.stop();
  await provider.stop();
});

async function callerOf(token: string): Promise<Principal> {
  const { status, body } = await new Api(service.api.origin, token).call<Principal>('GET', '/v1/callers/me');
  expect(status).toBe(200);
  return body;
}

it('stays the same when a token is rotated, and is another one for another token', async () => {
  const tokens = service.app.get(AccessTokensService);
  const [first, other] = [await service.newClient('first', { scopes: ['callers'] }), await service.newClient('other')];
  const caller = await callerOf(first.token);
  expect(caller).toEqual({ id: caller.id, familyId: caller.id, scopes: ['callers'] });
  const replacement = await callerOf(await tokens.rotate(caller.id, { overlap: 0 }, TESTER));
  expect(replacement).toEqual({ ...caller, id: expect.any(String) as string });
  expect(replacement.id).not.toBe(caller.id);
  expect((await callerOf(other.token)).familyId).not.toBe(caller.familyId);
});

it('is the subject of a JWT, whatever JWT that is', async () => {
  const [alice, again, bob] = await Promise.all(
    [{}, { jti: '2', scope: 'callers' }, { sub: 'bob' }].map(async (claims) => callerOf(await provider.sign(claims))),
  );
  expect(alice).toMatchObject({ subject: 'alice', scopes: 'all', familyId: alice?.id });
  expect(again).toEqual({ ...alice, scopes: ['callers'] });
  expect(bob?.familyId).not.toBe(alice?.familyId);
});

it('is nobody on a route without a token, which is an error of the service', async () => {
  expect((await service.api.send('GET', '/v1/strangers')).status).toBe(500);
});
