import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { Module } from '@nestjs/common';
import { startApp } from '../src/bootstrap.js';
import { ItemsModule } from '../src/items/items.module.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { readConfiguration } from '../src/platform/config/read-configuration.js';
import { open } from './support/flood.js';
import { freePort } from './support/free-port.js';
import { answerTo } from './support/http-client.js';
import { listen } from './support/listen.js';
import { runServiceToEnd, ServiceProcess } from './support/process.js';
import { eventually } from './support/eventually.js';

/** None of these requests needs a database. */
const AWAY = { DATABASE_URL: 'postgres://127.0.0.1:1/items' };

const cutOf = (service: ServiceProcess) => service.metric('items_http_connections_cut_total{limit="per-address"}');

/** Opens connections of 127.0.0.1, in groups that fit into the queue of a listening socket, and ignores what they receive. */
async function openMany(service: ServiceProcess, count: number): Promise<Socket[]> {
  const port = Number(new URL(service.origin).port);
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const group = Array.from({ length: Math.min(100, count - sockets.length) }, () => open(port));
    for (const socket of await Promise.all(group)) sockets.push(socket);
  }
  return sockets;
}

const isClosed = ({ readableEnded, destroyed }: Socket) => readableEnded || destroyed;

/** The status of `GET /livez` on a connection of its own; undefined if that is closed. */
async function liveFrom(localAddress: string, service: ServiceProcess): Promise<number | undefined> {
  const answer = answerTo(request(`${service.origin}/livez`, { agent: false, localAddress }).end());
  return (await answer.catch(() => undefined))?.response.statusCode;
}

describe('clients that disconnect before they read', () => {
  it('leave no files of the documentation pages open [closed-files]', async () => {
    const service = await ServiceProcess.start(AWAY);
    const descriptors = () => readdirSync(`/proc/${service.child.pid}/fd`).length;
    const assets = ['swagger-ui-bundle.js', 'swagger-ui.css', 'console.js', 'icon.svg'];
    const requests = assets.map((name) => `GET /docs/assets/${name} HTTP/1.1\r\nHost: x\r\n\r\n`).join('');
    const before = descriptors();
    for (let count = 0; count < 600; count += 50) {
      const sockets = await openMany(service, 50);
      const begun = sockets.map((socket) => once(socket, 'readable'));
      for (const socket of sockets) socket.write(requests.repeat(4));
      await Promise.all(begun);
      for (const socket of sockets) socket.destroy();
    }
    await eventually(async () => (await service.metric('items_http_connections')) === 0);
    expect(descriptors()).toBeLessThanOrEqual(before + 20);
    expect(new Set(service.linesOf('request').map(({ route }) => route))).toEqual(new Set(['/docs/assets/:name']));
    expect(await liveFrom('127.0.0.1', service)).toBe(200);
    await service.end('SIGKILL');
  });
});

describe('a start with a database server', () => {
  it('listens once, so that it accepts no connection that it does not serve', async () => {
    const PORT = String(await freePort());
    const service = await ServiceProcess.start({ ...AWAY, PORT, NODE_DEBUG: 'net' });
    expect(service.output.stderr.match(new RegExp(`setupListenHandle \\S+ ${PORT}\\b`, 'g'))).toHaveLength(1);
    await service.end('SIGKILL');
  });

  it('says that its port is in use', async () => {
    const PORT = String(await listen(createServer()));
    const { code, stderr } = await runServiceToEnd({ ...AWAY, PORT });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(`^Port ${PORT} is in use\\. .* choose another port with PORT\\.\n$`),
    ]);
  });
});

describe('MAX_CONNECTIONS_PER_ADDRESS', () => {
  it('leaves the service to other addresses when one opens 1,500 connections [connections-of-address]', async () => {
    const service = await ServiceProcess.start(AWAY);
    const sockets = await openMany(service, 1500);
    for (const socket of sockets) socket.resume();
    await eventually(() => sockets.filter(isClosed).length >= 500);
    expect([await service.metric('items_http_connections'), await cutOf(service)]).toEqual([1000, 500]);
    expect([await liveFrom('127.0.0.1', service), await liveFrom('127.0.0.2', service)]).toEqual([undefined, 200]);
    expect(sockets.filter(isClosed)).toHaveLength(500);
    for (const socket of sockets) socket.destroy();
    await eventually(async () => (await liveFrom('127.0.0.1', service)) === 200);
    await service.end('SIGKILL');
  });

  it('does not apply to trusted proxies [connections-of-address]', async () => {
    const limits = { MAX_CONNECTIONS_PER_ADDRESS: '3', TRUSTED_PROXIES: '10.0.0.0/8,127.0.0.1' };
    const service = await ServiceProcess.start({ ...AWAY, ...limits });
    await openMany(service, 50);
    expect(await liveFrom('127.0.0.1', service)).toBe(200);
    expect(await cutOf(service)).toBe(0);
    await service.end('SIGKILL');
  });
});

it('closes a connection that is idle for KEEP_ALIVE_TIMEOUT, and says so before [idle-connection-closed]', async () => {
  const service = await ServiceProcess.start({ ...AWAY, KEEP_ALIVE_TIMEOUT: '1' });
  const socket = await open(Number(new URL(service.origin).port));
  let received = '';
  socket.on('data', (data: Buffer) => (received += data.toString()));
  socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
  await eventually(() => received.includes('\r\n\r\n'));
  expect(received).toContain('\r\nKeep-Alive: timeout=1\r\n');
  await eventually(() => isClosed(socket), 10);
  socket.destroy();
  await service.end('SIGKILL');
});

describe('the probes on METRICS_PORT', () => {
  it('fail until the API listens [probes-on-metrics-port] [metrics-without-database]', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    @Module({
      imports: [PlatformModule, ItemsModule],
      providers: [{ provide: 'slow', useValue: { onApplicationBootstrap: () => promise } }],
    })
    class SlowModule {}
    const METRICS_PORT = String(await freePort());
    const starting = startApp(readConfiguration({ ...AWAY, LOG_LEVEL: 'silent', PORT: '0', METRICS_PORT }), SlowModule);
    const statusOf = async (path: string) => (await fetch(`http://127.0.0.1:${METRICS_PORT}${path}`)).status;
    await eventually(async () => (await statusOf('/metrics').catch(() => undefined)) === 200);
    expect([await statusOf('/livez'), await statusOf('/readyz')]).toEqual([503, 503]);
    resolve();
    const app = await starting;
    expect([await statusOf('/livez'), await statusOf('/readyz')]).toEqual([200, 503]);
    await app.close();
    await expect(statusOf('/livez')).rejects.toThrow();
  });

  it('answer like those of the API while MAX_CONNECTIONS is used up [probes-on-metrics-port] [connections-of-all]', async () => {
    const service = await ServiceProcess.start({ ...AWAY, MAX_CONNECTIONS: '3' });
    const probe = async (origin: string, path: string) => {
      const response = await fetch(origin + path, { headers: { Connection: 'close', 'X-Request-Id': 'probe' } });
      const headers = ['content-type', 'retry-after', 'cache-control', 'x-request-id'].map((name) =>
        response.headers.get(name),
      );
      return [response.status, headers, await response.json()];
    };
    const paths = ['/livez', '/readyz'];
    const ofApi = await Promise.all(paths.map((path) => probe(service.origin, path)));
    const sockets = await openMany(service, 8);
    for (const socket of sockets) socket.resume();
    await eventually(() => sockets.filter(isClosed).length >= 5);
    expect(await liveFrom('127.0.0.2', service)).toBeUndefined();
    expect(await Promise.all(paths.map((path) => probe(service.metricsOrigin, path)))).toEqual(ofApi);
    expect(ofApi.map(([status]) => status)).toEqual([200, 503]);
    expect((await fetch(`${service.metricsOrigin}/v1/items`)).status).toBe(404);
    await service.end('SIGKILL');
  });

  it('answer while connections use up the open files that clients may have [probes-on-metrics-port] [connections-of-all]', async () => {
    const under = ['sh', '-c', 'ulimit -n 200 && exec "$0" "$@"'];
    const service = ServiceProcess.spawn(AWAY, undefined, under);
    await service.becomes(() => service.has('Listening on '));
    const sockets = await openMany(service, 250);
    for (const socket of sockets) socket.resume();
    await eventually(() => sockets.filter(isClosed).length >= 100);
    expect((await fetch(`${service.metricsOrigin}/livez`)).status).toBe(200);
    expect(await service.metric('items_http_connections_cut_total{limit="max-connections"}')).toBe(100);
    expect(service.has('MAX_CONNECTIONS is 150')).toBe(true);
    await service.end('SIGKILL');
  });
});
