import { once } from 'node:events';
import { connect, type Server, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { jest } from '@jest/globals';
import { Controller, Get, Module } from '@nestjs/common';
import { ItemsModule } from '../src/items/items.module.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { generateToken } from '../src/platform/auth/token-format.js';
import { DatabaseMetrics } from '../src/platform/database/database-metrics.js';
import { Operation, Public } from '../src/platform/index.js';
import type { ProblemBody } from './support/api.js';
import { eventually } from './support/eventually.js';
import { startMeasured } from './support/scrape.js';
import { useService } from './support/use-service.js';

/** Milliseconds: more than the limit. */
const BLOCKED = 1200;

/** The same for bytes to arrive at the other end of a connection of this machine: less than the limit. */
const ARRIVAL = 100;

function block(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

@Public()
@Controller('blocking')
class BlockingController {
  /** Keeps the event loop from everything else, like work that has not been moved to a thread. */
  @Get()
  @Operation({
    summary: 'Block the event loop',
    deprecated: { since: '2026-01-31', sunset: '2027-01-31', use: 'a thread' },
  })
  work(): void {
    block(BLOCKED);
  }
}

@Module({ imports: [PlatformModule, ItemsModule], controllers: [BlockingController] })
class WithBlockingModule {}

const service = useService(() => startMeasured({ MAX_EVENT_LOOP_DELAY: '1' }, WithBlockingModule));

const shed = async () => (await service.scrape()).sum('items_http_requests_shed_total');

interface Exchange {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Waits for responses to requests that the event loop finds together. */
function together(responses: Promise<Exchange>[]): Promise<Exchange[]> {
  block(ARRIVAL);
  return Promise.all(responses);
}

/** Sends a request at once, on a connection that is open. */
function send(socket: Socket, line: string, token?: string): Promise<Exchange> {
  const authorization = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`;
  socket.write(`${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${authorization}\r\n`);
  return new Promise((resolve, reject) => {
    let text = '';
    socket
      .setEncoding('utf8')
      .on('data', (part: string) => (text += part))
      .on('error', reject)
      .on('end', () => {
        const [head = '', body = ''] = text.split(/\r\n\r\n([^]*)/);
        resolve({ status: Number(head.split(' ')[1]), head, body });
      });
  });
}

/** Opens connections, and waits until the service has accepted them: one in each turn of its event loop. */
async function connections(count: number): Promise<Socket[]> {
  const server = service.app.getHttpServer() as Server;
  const opened = promisify(server.getConnections.bind(server));
  const before = await opened();
  const sockets = Array.from({ length: count }, () => connect({ port: service.port, host: '127.0.0.1' }));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  await eventually(async () => (await opened()) === before + count);
  return sockets;
}

it('sheds what waits behind a turn of the event loop that takes too long, before authentication [overload-shed] [overload-retry-after] [deprecation-announced]', async () => {
  const [first, valid, unknown, missing] = (await connections(4)) as [Socket, Socket, Socket, Socket];
  const statements = jest.spyOn(service.app.get(DatabaseMetrics), 'observe');
  const responses = await together([
    send(first, 'GET /v1/blocking'),
    send(valid, 'GET /v1/items', service.api.token),
    send(unknown, 'GET /v1/items', generateToken()),
    send(missing, 'GET /v1/blocking'),
  ]);
  expect(responses.map(({ status }) => status)).toEqual([200, 503, 503, 503]);
  for (const { head, body } of responses.slice(1)) {
    expect(head).toMatch(/^Retry-After: 1$/im);
    expect(JSON.parse(body) as ProblemBody).toMatchObject({
      type: '/docs/problems#service-unavailable',
      detail: 'The service is overloaded. Retry in 1 s.',
    });
  }
  // That of the route that is deprecated.
  const deprecations = responses.map(({ head }) => /^Deprecation: @1769817600$/m.test(head));
  expect(deprecations).toEqual([true, false, false, true]);
  expect(statements).not.toHaveBeenCalled();
  expect(await shed()).toBe(3);
  // It is not behind any more.
  expect((await service.api.list()).status).toBe(200);
});

it('serves probes, also then [overload-probes]', async () => {
  const before = await shed();
  const [first, live, ready, other] = (await connections(4)) as [Socket, Socket, Socket, Socket];
  const responses = await together([
    send(first, 'GET /v1/blocking'),
    send(live, 'GET /livez'),
    send(ready, 'GET /readyz'),
    send(other, 'GET /v1/items', service.api.token),
  ]);
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 503]);
  expect((await shed()) - before).toBe(1);
});

it('sheds nothing that came while the event loop was blocked by something else, or while it is busy with short turns', async () => {
  const before = await shed();
  const sockets = await connections(8);
  const waiting = Promise.all(sockets.map((socket) => send(socket, 'GET /v1/items', service.api.token)));
  block(BLOCKED);
  expect((await waiting).map(({ status }) => status)).toEqual(sockets.map(() => 200));
  const clients = Array.from({ length: 32 }, async () => {
    for (let count = 0; count < 20; count += 1) expect((await service.api.list({ limit: '1' })).status).toBe(200);
  });
  await Promise.all(clients);
  expect((await shed()) - before).toBe(0);
});
