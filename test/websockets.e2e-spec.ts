import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { jest } from '@jest/globals';
import { ForbiddenException, Controller, Logger, Module, NotFoundException, SetMetadata, type Type } from '@nestjs/common';
import {
  type ClientProxy,
  ClientProxyFactory,
  MessagePattern,
  Payload,
  RpcException,
  Transport,
} from '@nestjs/microservices';
import { ExternalContextCreator } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { WsAdapter } from '@nestjs/platform-ws';
import { MessageBody, SubscribeMessage, WebSocketGateway, WsException } from '@nestjs/websockets';
import { lastValueFrom } from 'rxjs';
import { ItemsModule } from '../src/items/items.module.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { createApp } from '../src/app.js';
import { AccessTokensService } from '../src/platform/auth/access-tokens.service.js';
import { generateToken } from '../src/platform/auth/token-format.js';
import { readConfiguration } from '../src/platform/config/read-configuration.js';
import { conflict, Metrics, Problem, Public, RequireScopes, Text } from '../src/platform/index.js';
import { ChatModule } from './fixtures/chat/chat.module.js';
import { freePort } from './support/free-port.js';
import { Scrape } from './support/scrape.js';
import { eventually, serverDefaults, TESTER } from './support/service.js';
import { createTestDatabase } from './support/test-database.js';

class WordDto {
  @Text({ description: 'A word.', example: 'Yes.', maximumLength: 5 })
  declare readonly word: string;
}

/** Everything that can go wrong with a message. */
function fail({ word }: WordDto): void {
  if (word === 'gone') throw new NotFoundException('There is no such thing.');
  if (word === 'taken') throw new Problem(conflict, 'It exists.');
  throw new TypeError('a secret cause');
}

@Public()
@WebSocketGateway({ path: '/faults' })
class FaultsGateway {
  @SubscribeMessage('fail')
  fail(@MessageBody() body: WordDto): void {
    if (body.word === 'own') throw new WsException('of the protocol');
    fail(body);
  }
}

@Public()
@Controller()
class FaultsController {
  @MessagePattern('fail')
  fail(@Payload() body: WordDto): void {
    if (body.word === 'own') throw new RpcException('of the protocol');
    fail(body);
  }
}

@Public()
class FaultsResolver {
  readonly fail = (word: unknown): void => {
    // As a `GraphQLError` of the package `graphql`.
    if (word === 'own') throw Object.assign(new Error('of the protocol'), { extensions: { code: 'OWN' } });
    if (word === 'refused') throw new ForbiddenException();
    fail({ word: String(word) });
  };
}

@Module({
  imports: [PlatformModule, ItemsModule, ChatModule],
  providers: [FaultsGateway, FaultsResolver],
  controllers: [FaultsController],
})
class WithMessages {}

interface WithClient {
  app: NestExpressApplication;
  port: number;
  /** Of a microservice with the guards and filters of the application, and of one without. */
  inheriting: ClientProxy;
  messagesPort: number;
  plain: ClientProxy;
  /** A token with these scopes. */
  issue(scopes: string[]): Promise<string>;
  stop(): Promise<void>;
}

/** With two microservices in the same process. */
async function startWithMessages(): Promise<WithClient> {
  const database = await createTestDatabase();
  const environment = { ...serverDefaults, LOG_LEVEL: 'silent', AUTH_FAILURE_BURST: '3', AUTH_FAILURE_RATE: '1' };
  const proxied = { TRUSTED_PROXIES: '127.0.0.1,::1', PUBLIC_URL: 'https://api.example.com/live' };
  const trusting = { ...environment, ...proxied, ...database.environment };
  const app = await createApp(readConfiguration(trusting), WithMessages);
  app.useWebSocketAdapter(new WsAdapter(app));
  const addMicroservice = async (inheritAppConfig: boolean) => {
    const options = { host: '127.0.0.1', port: await freePort() };
    app.connectMicroservice({ transport: Transport.TCP, options }, { inheritAppConfig });
    return [ClientProxyFactory.create({ transport: Transport.TCP, options }), options.port] as const;
  };
  const [[inheriting, messagesPort], [plain]] = [await addMicroservice(true), await addMicroservice(false)];
  await app.startAllMicroservices();
  await app.listen(0);
  const { port } = app.getHttpServer().address() as AddressInfo;
  await eventually(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200);
  const stop = async () => {
    await Promise.all([inheriting.close(), plain.close()]);
    await app.close();
    await database.drop();
  };
  const issue = async (scopes: string[]) =>
    (await app.get(AccessTokensService).issue({ name: 'test', scopes }, TESTER)).token;
  return { app, port, inheriting, messagesPort, plain, issue, stop };
}

const service = {} as WithClient;
beforeAll(async () => {
  Object.assign(service, await startWithMessages());
});
afterAll(() => service.stop());

/** The response to a handshake that is refused. */
async function refusalOf(path: string, headers: Record<string, string>) {
  const upgrade = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'a'.repeat(22) + '==',
  };
  const handshake = request({ port: service.port, path, headers: { ...upgrade, ...headers } }).end();
  const [response] = (await once(handshake, 'response')) as [IncomingMessage];
  await text(response);
  return { status: response.statusCode, challenge: response.headers['www-authenticate'] };
}

/** Sends messages on one connection, each after the answer to the one before. */
async function talk(path: string, token: string | undefined, messages: unknown[]): Promise<unknown[]> {
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const socket = new WebSocket(`ws://127.0.0.1:${service.port}${path}`, { headers });
  await once(socket, 'open');
  const answers: unknown[] = [];
  for (const message of messages) {
    const answer = once(socket, 'message') as Promise<[{ data: string }]>;
    socket.send(JSON.stringify(message));
    answers.push(JSON.parse((await answer)[0].data));
  }
  socket.close();
  await once(socket, 'close');
  return answers;
}

const bearer = (token: string, address = '192.0.2.1') => ({ Authorization: `Bearer ${token}`, 'X-Forwarded-For': address });

const exception = (data: object) => ({ event: 'exception', data: expect.objectContaining(data) });

describe('the handshake of a gateway', () => {
  it('is refused without a valid token, or without its scope [handshake-refused]', async () => {
    const realm = 'Bearer realm="items"';
    expect(await refusalOf('/chat', {})).toEqual({ status: 401, challenge: realm });
    expect(await refusalOf('/chat', bearer('items_mistyped'))).toEqual({
      status: 401,
      challenge: `${realm}, error="invalid_token"`,
    });
    expect(await refusalOf('/chat', bearer(await service.issue(['items:read'])))).toEqual({
      status: 403,
      challenge: `${realm}, error="insufficient_scope", scope="chat"`,
    });
  });

  it('is logged, with its caller, or why it was refused', async () => {
    const log = jest.spyOn(Logger.prototype, 'log').mockReturnValue();
    const token = await service.issue(['items:read']);
    await refusalOf('/chat', bearer(token));
    await talk('/chat', await service.issue(['chat']), []);
    await refusalOf('/chat', bearer('items_mistyped'));
    const lines = log.mock.calls.map(([line]: unknown[]) => line as { msg?: string });
    log.mockRestore();
    const handshake = (outcome: object) => expect.objectContaining({ msg: 'handshake', ...outcome }) as object;
    expect(lines.filter(({ msg }) => msg === 'handshake')).toEqual([
      handshake({ principalId: expect.any(String), problem: 'insufficient-scope' }),
      handshake({ principalId: expect.any(String), problem: undefined }),
      handshake({ principalId: undefined, problem: 'unauthorized', refusal: { address: '192.0.2.1', reason: 'checksum' } }),
    ]);
  });

  it('spends the failures of the address behind the proxy, like a request [handshake-failures-count]', async () => {
    const valid = await service.issue(['chat']);
    await eventually(async () => {
      await Promise.all(Array.from({ length: 9 }, () => refusalOf('/chat', bearer(generateToken(), '192.0.2.2'))));
      const scrape = new Scrape(await service.app.get(Metrics).registry.metrics());
      return scrape.sum('items_authentication_refusals_total', { reason: 'budget' }) > 0;
    });
    expect((await talk('/chat', valid, [{ event: 'say', data: { text: 'Still open.' } }])).length).toBe(1);
  });
});

describe('a message', () => {
  it('is validated, and its invalid parts are named [messages-validated]', async () => {
    const say = (data: unknown) => ({ event: 'say', data });
    const answers = await talk('/chat', await service.issue(['chat']), [
      say({ text: 'Hello.' }),
      say({ text: '', size: 1 }),
      say('Hello.'),
      say(undefined),
      say({ text: 'Hello again.' }),
    ]);
    const required = { pointer: '/text', code: 'required', detail: 'is required' };
    expect(answers).toEqual([
      { event: 'said', data: { text: 'Hello.', by: expect.any(String) } },
      exception({
        type: '/live/docs/problems#invalid-body',
        status: 400,
        errors: [
          expect.objectContaining({ pointer: '/size', code: 'unknown' }),
          expect.objectContaining({ pointer: '/text' }),
        ],
      }),
      exception({ errors: expect.arrayContaining([required]) }),
      exception({ errors: [required] }),
      { event: 'said', data: { text: 'Hello again.', by: expect.any(String) } },
    ]);
  });

  it('gets problems and errors of Nest, and no cause of a failure', async () => {
    const fault = (word: string) => ({ event: 'fail', data: { word } });
    const answers = await talk('/faults', undefined, ['gone', 'taken', 'own', 'other', 'too long'].map(fault));
    expect(answers).toEqual([
      exception({ status: 404, detail: 'There is no such thing.' }),
      exception({ type: '/live/docs/problems#conflict', detail: 'It exists.' }),
      exception({ status: 'error', message: 'of the protocol' }),
      exception({ status: 'error', message: 'Internal server error' }),
      exception({ errors: [{ pointer: '/word', code: 'too_long', detail: 'must have at most 5 characters' }] }),
    ]);
  });

  it('of a microservice gets the same', async () => {
    const send = (to: ClientProxy, data: unknown) =>
      lastValueFrom(to.send<unknown>('fail', data)).catch((error: unknown) => error);
    for (const to of [service.inheriting, service.plain]) {
      expect(await send(to, { word: 'gone' })).toMatchObject({ status: 404, type: '/live/docs/problems#not-found' });
      expect(await send(to, { word: 'own' })).toEqual({ status: 'error', message: 'of the protocol' });
    }
    expect(await send(service.inheriting, { word: 'other' })).toMatchObject({ status: 500, detail: 'The service failed.' });
    expect(await send(service.plain, { word: 'other' })).toEqual({ status: 'error', message: 'Internal server error' });
    expect(await send(service.inheriting, {})).toMatchObject({
      errors: [{ pointer: '/word', code: 'required', detail: 'is required' }],
    });
    // Clients of Nest do not send it, but others can: no guard takes the payload for a request.
    const nothing = JSON.stringify({ id: '1', pattern: 'fail', data: null });
    const socket = connect(service.messagesPort, '127.0.0.1').end(`${nothing.length}#${nothing}`);
    expect(await text(socket)).toContain('"pointer":"/word","code":"required"');
  });
});

it('an operation of GraphQL gets problems as extensions of its error, as @nestjs/graphql calls resolvers [graphql-extensions]', async () => {
  const resolver = service.app.get(FaultsResolver);
  const context = [undefined, undefined, undefined, undefined, undefined, 'graphql'] as const;
  const resolve = service.app.get(ExternalContextCreator).create(resolver, resolver.fail, 'fail', ...context);
  const send = async (word: string) => {
    const error: unknown = await resolve(word).catch((reason: unknown) => reason);
    return (
      Error.isError(error) && { message: error.message, ...('extensions' in error && { extensions: error.extensions }) }
    );
  };
  const detail = 'There is no such thing.';
  const notFound = { code: 'NOT_FOUND', type: '/live/docs/problems#not-found', title: 'Not found', status: 404, detail };
  expect(await send('gone')).toEqual({ message: detail, extensions: notFound });
  expect(await send('refused')).toMatchObject({ extensions: { code: 'FORBIDDEN', status: 403 } });
  expect(await send('other')).toMatchObject({ message: 'The service failed.', extensions: { code: 'INTERNAL_ERROR' } });
  expect(await send('own')).toEqual({ message: 'of the protocol', extensions: { code: 'OWN' } });
});

describe('the start', () => {
  @WebSocketGateway()
  class OpenGateway {
    @SubscribeMessage('say')
    say(): void {}
  }

  @WebSocketGateway()
  @RequireScopes('things')
  class ScopedGateway {
    @SubscribeMessage('say')
    say(): void {}
  }

  @Controller()
  class OpenController {
    @MessagePattern('say')
    say(): void {}
  }

  // As @Query() of @nestjs/graphql, which is not installed here.
  class OpenResolver {
    @SetMetadata('graphql:resolver_type', 'Query')
    things(): void {}

    @SetMetadata('graphql:resolve_property', true)
    @Public()
    size(): void {}
  }

  const fault = (name: string) =>
    `\n- ${name} is not an HTTP route, so that nothing checks a token or its scopes: check the caller yourself, at a gateway with Authenticator.verify() in the handshake, and add @Public() to the class.`;

  it.each<[string, { providers?: Type[]; controllers?: Type[] }, string[]]>([
    ['a gateway', { providers: [OpenGateway] }, ['OpenGateway.say', 'OpenGateway.handleConnection']],
    ['a gateway with scopes', { providers: [ScopedGateway] }, ['ScopedGateway.say', 'ScopedGateway.handleConnection']],
    ['a handler of a microservice', { controllers: [OpenController] }, ['OpenController.say']],
    ['a resolver', { providers: [OpenResolver] }, ['OpenResolver.things']],
  ])('stops at %s without @Public() [policy-required] [start-messages]', async (_case, metadata, names) => {
    @Module({ ...metadata, imports: [PlatformModule, ItemsModule] })
    class FeatureModule {}

    const starting = createApp(readConfiguration({ LOG_LEVEL: 'silent' }), FeatureModule);
    const message = `The application does not start until this is fixed:${names.map(fault).join('')}`;
    await expect(starting).rejects.toThrow(new Error(message));
  });
});
