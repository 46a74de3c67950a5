import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { open } from './support/flood.js';
import { answerTo } from './support/http-client.js';
import { ServiceProcess } from './support/process.js';
import { eventually } from './support/eventually.js';

/** None of these requests needs a database. */
const AWAY = { DATABASE_URL: 'postgres://127.0.0.1:1/items' };

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

/** The status of `GET /livez` on a connection of its own; undefined if that is closed. */
async function liveFrom(localAddress: string, service: ServiceProcess): Promise<number | undefined> {
  const answer = answerTo(request(`${service.origin}/livez`, { agent: false, localAddress }).end());
  return (await answer.catch(() => undefined))?.response.statusCode;
}

describe('clients that disconnect before they read', () => {
  it('leave no files of the documentation pages open', async () => {
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
