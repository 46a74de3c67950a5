import { once } from 'node:events';
import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import {
  Controller,
  Get,
  Injectable,
  Logger,
  type MiddlewareConsumer,
  Module,
  type NestModule,
  type OnModuleDestroy,
  StreamableFile,
} from '@nestjs/common';
import { startApp } from '../src/bootstrap.js';
import { ItemsModule } from '../src/items/items.module.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { readConfiguration } from '../src/platform/config/read-configuration.js';
import { Drain, Metrics, RequireScopes } from '../src/platform/index.js';
import { TicksModule } from './fixtures/ticks/ticks.module.js';
import { WebModule } from './fixtures/web/web.module.js';
import { ServiceProcess } from './support/process.js';
import { sendRaw } from './support/raw-http.js';
import { type Service, startService } from './support/service.js';
import { eventually } from './support/eventually.js';
import { createTestDatabase } from './support/test-database.js';
import { declareToken } from './support/tokens.js';

/** Tests without database use a service without one, which starts sooner. */
const AWAY = { DATABASE_URL: 'postgres://127.0.0.1:1/items' };

let environment: NodeJS.ProcessEnv;
let away: NodeJS.ProcessEnv;
let token: string;

beforeAll(async () => {
  const database = await createTestDatabase();
  const declared = await declareToken();
  ({ token } = declared);
  environment = { ...database.environment, ...declared.variables };
  away = { ...AWAY, ...declared.variables };
});

/** A create whose body is being read: the service asks for it only then. */
async function openCreate(service: ServiceProcess) {
  const body = '{"name":"in flight"}';
  const { hostname, port } = new URL(service.origin);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.on('data', (chunk) => (answer += chunk.toString()));
  const head = ['POST /v1/items HTTP/1.1', 'Host: x', `Authorization: Bearer ${token}`, 'Content-Type: application/json'];
  socket.write(`${head.join('\r\n')}\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`);
  await eventually(() => answer === 'HTTP/1.1 100 Continue\r\n\r\n');
  answer = '';
  socket.write(body.slice(0, 5));
  return { socket, finish: () => socket.write(body.slice(5)), answer: () => answer };
}

/** A feature that forgets to await. */
const STRAY = `process.on('SIGHUP', () => void Promise.reject(new Error('stray')))`;

describe('a signal', () => {
  it.each([
    ['SIGTERM', 'which is the only one', '0', 0],
    // Both come from one Ctrl-C when npm runs the service.
    ['SIGINT', 'which another follows at once, whatever the delay is', '20', 0],
    ['SIGHUP', 'a rejection that is not handled', '0', 1],
  ] as const)(
    '%s, %s, lets requests in flight finish, closes idle connections, refuses new ones, and ends the process [sigterm-finishes] [unhandled-rejection]',
    async (signal, _case, SHUTDOWN_DELAY, code) => {
      const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(STRAY)}`;
      const service = await ServiceProcess.startReady({ ...environment, SHUTDOWN_DELAY, NODE_OPTIONS });
      const agent = new Agent({ keepAlive: true });
      const idle = request(`${service.origin}/livez`, { agent }).end();
      const [response] = (await once(idle, 'response')) as [NodeJS.ReadableStream];
      response.resume();
      const begun = connect(Number(new URL(service.origin).port), '127.0.0.1').on('error', () => undefined);
      begun.write('GET /livez HT');
      const create = await openCreate(service);

      const ended = service.end(signal);
      await eventually(() => service.has('shutting down'));
      if (signal === 'SIGINT') service.child.kill(signal);
      const refuses = () =>
        fetch(`${service.origin}/livez`).then(
          () => false,
          () => true,
        );
      await eventually(refuses);
      await delay(700);
      const probes = ['livez', 'readyz'].map(async (path) => (await fetch(`${service.metricsOrigin}/${path}`)).status);
      expect(await Promise.all(probes)).toEqual([200, 503]);
      expect([service.child.exitCode, create.answer()]).toEqual([null, '']);
      create.finish();
      expect(await ended).toBe(code);
      expect(service.log.find(({ level }) => level === 'fatal')?.['err']).toEqual(
        code === 1 ? expect.objectContaining({ message: 'stray' }) : undefined,
      );
      expect(create.answer()).toMatch(/^HTTP\/1\.1 201 /);
      expect(service.has('Requests were still in flight')).toBe(false);
      agent.destroy();
      begun.destroy();
    },
  );
});

/** A client of another service, opened and closed as in Nest's recipe for Prisma. */
@Injectable()
class Clock implements OnModuleDestroy {
  private isClosed = false;

  onModuleDestroy(): void {
    this.isClosed = true;
  }

  async tell(ms: number): Promise<{ now: number }> {
    await delay(ms);
    if (this.isClosed) throw new Error('The clock is closed.');
    return { now: Date.now() };
  }
}

@Controller('clock')
@RequireScopes('clock')
class ClockController {
  constructor(
    private readonly clock: Clock,
    private readonly drain: Drain,
  ) {}

  /** Lines without an end, for clients that do not understand server-sent events. */
  @Get('lines')
  listLines(): StreamableFile {
    return new StreamableFile(Readable.from(this.lines()), { type: 'application/x-ndjson' });
  }

  /** Responds when the service shuts down. */
  @Get('last')
  async getLast(): Promise<{ now: number }> {
    await once(this.drain.signal, 'abort');
    return this.clock.tell(200);
  }

  private async *lines(): AsyncGenerator<string> {
    while (!this.drain.hasBegun) yield `${JSON.stringify(await this.clock.tell(50))}\n`;
  }
}

describe('the modules of features', () => {
  @Module({ imports: [PlatformModule, ItemsModule, TicksModule], controllers: [ClockController], providers: [Clock] })
  class FeatureModule {}

  let service: Service;
  beforeEach(async () => {
    service = await startService({}, undefined, FeatureModule);
  });
  afterEach(() => service.stop());

  const get = (path: string) =>
    fetch(`${service.api.origin}${path}`, { headers: { Authorization: `Bearer ${service.api.token}` } });

  /** Reads a stream until a part of it has arrived. @returns its end, which is rejected if the connection is cut */
  const begin = async (path: string, part: string) => {
    const { body } = await get(path);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const texts = (body ?? new ReadableStream<Uint8Array>()).pipeThrough(new TextDecoderStream());
    const end = (async () => {
      for await (const text of texts) if (text.includes(part)) resolve();
    })();
    end.catch(reject);
    await promise;
    return { end };
  };

  it('are destroyed after the last response, and streams without an end are ended when the shutdown begins [destroyed-after-responses] [event-streams-end]', async () => {
    const ticks = await begin('/v1/ticks', 'data: {"tick":0}\n');
    const lines = await begin('/v1/clock/lines', '{"now":');
    const last = get('/v1/clock/last');
    await eventually(async () =>
      (await service.app.get(Metrics).registry.metrics()).includes('items_http_requests_in_flight 3'),
    );
    await service.app.close();
    expect((await last).status).toBe(200);
    await Promise.all([ticks.end, lines.end]);
  });
});

it('sends a long response that its client reads slowly to its end', async () => {
  const LENGTH = 30_000_000;
  @Controller('long')
  @RequireScopes('long')
  class LongController {
    @Get()
    getText(): string {
      return 'x'.repeat(LENGTH);
    }
  }
  @Module({ imports: [PlatformModule, ItemsModule], controllers: [LongController] })
  class LongModule {}

  const service = await startService({}, undefined, LongModule);
  const sent = request(`${service.api.origin}/v1/long`, { headers: { Authorization: `Bearer ${service.api.token}` } }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const stopped = service.stop();
  // Until the port is closed, and what was not sent at once would be cut.
  await delay(300);
  let received = 0;
  for await (const { length } of response as AsyncIterable<Buffer>) received += length;
  expect(received).toBe(LENGTH);
  await stopped;
});

it('closes a connection after a response that ends long after the others, and was to be kept alive', async () => {
  const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
  async function* parts() {
    yield 'first';
    await goesOn;
    yield 'last';
  }
  @Controller('parts')
  @RequireScopes('parts')
  class PartsController {
    @Get()
    getParts(): StreamableFile {
      return new StreamableFile(Readable.from(parts()));
    }
  }
  @Module({ imports: [PlatformModule, ItemsModule], controllers: [PartsController] })
  class PartsModule {}

  const error = jest.spyOn(Logger.prototype, 'error');
  const service = await startService({ KEEP_ALIVE_TIMEOUT: '600' }, undefined, PartsModule);
  const socket = connect(Number(new URL(service.api.origin).port), '127.0.0.1').setEncoding('utf8');
  let received = '';
  socket.on('data', (text: string) => (received += text));
  socket.write(`GET /v1/parts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.api.token}\r\n\r\n`);
  await eventually(() => received.includes('first'));
  expect(received).toContain('\r\nConnection: keep-alive\r\n');
  const stopped = service.stop();
  // Until idle connections have been closed.
  await delay(2500);
  const closed = once(socket, 'close');
  goOn();
  await Promise.all([stopped, closed]);
  expect(received).toMatch(/last\r\n0\r\n\r\n$/);
  // That the connection is still open shortly before SHUTDOWN_TIMEOUT.
  expect(error).not.toHaveBeenCalled();
  error.mockRestore();
});

it('ends an event stream of which middleware has replaced `end`', async () => {
  async function* words() {
    for (;;) {
      yield 'data: word\n\n';
      await delay(50);
    }
  }
  @Controller('words')
  @RequireScopes('words')
  class WordsController {
    @Get()
    getWords(): StreamableFile {
      return new StreamableFile(Readable.from(words()), { type: 'text/event-stream' });
    }
  }
  @Module({ imports: [PlatformModule, ItemsModule, WebModule], controllers: [WordsController] })
  class WordsModule {}

  const service = await startService({}, undefined, WordsModule);
  const headers = { Authorization: `Bearer ${service.api.token}`, 'Accept-Encoding': 'gzip' };
  const sent = request(`${service.api.origin}/v1/words`, { headers }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  expect(response.headers['content-encoding']).toBe('gzip');
  const ended = once(response.resume(), 'end');
  await service.stop();
  await ended;
});

it('ignores what middleware still sends on an event stream that its client does not read', async () => {
  @Module({ imports: [PlatformModule, ItemsModule] })
  class NewsModule implements NestModule {
    configure(consumer: MiddlewareConsumer): void {
      const send = (_request: IncomingMessage, response: ServerResponse) => {
        response.setHeader('Content-Type', 'text/event-stream');
        const sending = setInterval(() => response.write(`data: ${'x'.repeat(1_000_000)}\n\n`), 10);
        response.once('close', () => clearInterval(sending));
      };
      consumer.apply(send).forRoutes('news');
    }
  }

  const service = await startService({}, undefined, NewsModule);
  const socket = connect(Number(new URL(service.api.origin).port), '127.0.0.1').pause();
  socket.write('GET /v1/news HTTP/1.1\r\nHost: x\r\n\r\n');
  await delay(200);
  await service.stop();
  socket.destroy();
});

describe('SHUTDOWN_DELAY', () => {
  it('is the time for which requests are served, each response closing its connection, while the service is not ready [drain-delay]', async () => {
    const service = await ServiceProcess.startReady({ ...environment, SHUTDOWN_DELAY: '15' });
    // Items of requests that were in flight at earlier shutdowns exist.
    const { items } = (await service.client(token).list()).body;
    expect(items.map(({ name }) => name)).toEqual(['in flight', 'in flight', 'in flight']);
    const port = Number(new URL(service.origin).port);
    const kept = connect(port, '127.0.0.1').setEncoding('utf8');
    const received: string[] = [];
    kept.on('data', (text: string) => received.push(text));
    kept.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    await eventually(() => received.length === 1);
    expect(received[0]).toMatch(/\r\nConnection: keep-alive\r\nKeep-Alive: timeout=65\r\n/);
    const create = await openCreate(service);

    const signalled = performance.now();
    const ended = service.end('SIGTERM');
    await eventually(() => service.has('shutting down'));
    const ready = await service.client(token).send('GET', '/readyz');
    expect([ready.status, ready.body.detail]).toEqual([503, 'Not ready: shutdown.']);
    const { status, headers } = await service.client(token).list();
    expect([status, headers.get('connection')]).toEqual([200, 'close']);
    kept.write(`GET /v1/items HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    await once(kept, 'end');
    expect(received.slice(1).join('')).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*Connection: close\r\n/);
    create.finish();
    await once(create.socket, 'end');
    expect(create.answer()).toMatch(/^HTTP\/1\.1 201 Created\r\n[^]*Connection: close\r\n/);
    const requests = `GET /v1/items HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`.repeat(3);
    const { headers: first, body: others } = await sendRaw(port, requests);
    expect((first + others).match(/HTTP\/1\.1 200|connection: close/gi)).toEqual(['connection: close']);
    expect(await ended).toBe(0);
    // Requests behind the response that closes the connection do not run.
    expect(service.linesOf('request').filter(({ route }) => route === '/v1/items')).toHaveLength(5);
    expect(performance.now() - signalled).toBeGreaterThanOrEqual(15_000);
  });

  it('is skipped by a service that does not listen yet', async () => {
    // When the application begins to handle it, beside what ends the process until then.
    const early = `process.on('newListener', (name) => {
      if (name === 'SIGTERM' && process.listenerCount(name) === 1) setTimeout(process.kill, 1, process.pid, name);
    })`;
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(early)}`;
    const service = ServiceProcess.spawn({ ...away, SHUTDOWN_DELAY: '600', SHUTDOWN_TIMEOUT: '900', NODE_OPTIONS });
    const { code } = await service.ended;
    expect([code, service.has('shutting down'), service.has('Listening on ')]).toEqual([0, true, false]);
  });
});

describe('SHUTDOWN_TIMEOUT', () => {
  it('also applies while a module is destroyed, and the service is not ready from the signal on', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    @Module({
      imports: [PlatformModule, ItemsModule],
      providers: [{ provide: 'slow', useValue: { onModuleDestroy: () => promise } }],
    })
    class SlowModule {}
    const exit = jest.spyOn(process, 'exit').mockImplementation(() => undefined as never);
    const error = jest.spyOn(Logger.prototype, 'error');
    const variables = {
      ...away,
      LOG_LEVEL: 'silent',
      PORT: '0',
      METRICS_PORT: '0',
      SHUTDOWN_DELAY: '0',
      SHUTDOWN_TIMEOUT: '3',
    };
    const app = await startApp(readConfiguration(variables), SlowModule);
    const { port } = app.getHttpServer().address() as AddressInfo;
    process.emit('SIGTERM', 'SIGTERM');
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
    expect([ready.status, ready.headers.get('connection'), await ready.text()]).toEqual([
      503,
      'close',
      expect.stringContaining('Not ready: shutdown, database.'),
    ]);
    await eventually(() => exit.mock.calls.length === 1);
    resolve();
    await eventually(() => exit.mock.calls.length === 2);
    // No request was in flight.
    expect(error).not.toHaveBeenCalled();
    jest.restoreAllMocks();
  });

  it('limits how long a request that never finishes can delay the exit [shutdown-timeout]', async () => {
    const service = await ServiceProcess.start({ ...away, SHUTDOWN_TIMEOUT: '0.5' });
    const create = await openCreate(service);
    expect(await service.end('SIGTERM')).toBe(0);
    expect(service.has('Requests were still in flight')).toBe(true);
    create.socket.destroy();
  });
});

it('resets no connection: each request that is not refused gets its response [sigterm-finishes]', async () => {
  const service = await ServiceProcess.startReady({ ...environment, SHUTDOWN_DELAY: '1' });
  const outcomes: unknown[] = [];
  /** A client that opens a connection for each request. */
  const send = async (): Promise<void> => {
    const sent = request(`${service.origin}/v1/items`, {
      method: 'POST',
      agent: false,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    });
    sent.end('{"name":"one of many"}');
    const failed = once(sent, 'error').then(([error]) => (error as NodeJS.ErrnoException).code);
    const answered = once(sent, 'response').then(([response]) => (response as IncomingMessage).resume().statusCode);
    outcomes.push(await Promise.race([failed, answered]));
    return outcomes.at(-1) === 201 ? send() : undefined;
  };
  const clients = Promise.all(Array.from({ length: 8 }, send));
  await eventually(() => outcomes.length > 100);
  expect(await service.end('SIGTERM')).toBe(0);
  await clients;
  expect(outcomes.filter((outcome) => outcome !== 201)).toEqual(Array.from({ length: 8 }, () => 'ECONNREFUSED'));
});
