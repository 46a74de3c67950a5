import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { eventually } from '../../../test/support/eventually.js';
import { listen } from '../../../test/support/listen.js';
import { unreadLimit } from './unread-responses.js';

const MEGABYTE = 2 ** 20;
/** Of a response: much more than the operating system takes. */
const SIZE = 10 * MEGABYTE;

it('closes the connections of the oldest responses beyond 32 MiB that are not read, and of no others [unread-responses]', async () => {
  let cut = 0;
  const responded: Socket[] = [];
  const addUnread = unreadLimit(() => (cut += 1));
  const server = createServer((request, response) => {
    response.once('prefinish', () => addUnread(response));
    response.end(Buffer.alloc({ '/small': 10, '/': SIZE }[request.url ?? ''] ?? 4 * SIZE));
    responded.push(request.socket);
  });
  const port = await listen(server);
  const send = async (path: string) => {
    const socket = connect({ port, allowHalfOpen: true });
    await once(socket, 'connect');
    socket.on('error', () => undefined).pause();
    const count = responded.length;
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await eventually(() => responded.length > count);
    return socket;
  };
  const quick = await send('/small');
  const sockets = [await send('/'), await send('/'), await send('/'), await send('/')];
  const isOpen = responded.map(({ destroyed }) => !destroyed);
  expect([isOpen.slice(0, 2), isOpen.slice(-2), cut]).toEqual([
    [true, false],
    [true, true],
    isOpen.filter((open) => !open).length,
  ]);
  // What is read to the end makes room.
  const latest = sockets.at(-1);
  let read = 0;
  latest?.on('data', ({ length }: Buffer) => (read += length)).resume();
  await eventually(() => read > SIZE);
  const before = cut;
  sockets.push(await send('/'));
  expect(cut).toBe(before);
  // One alone is not cut, however large it is.
  const large = await send('/large');
  expect(responded.map(({ destroyed }) => !destroyed).filter(Boolean).length).toBe(3);
  read = 0;
  large.on('data', ({ length }: Buffer) => (read += length)).resume();
  await eventually(() => read > 4 * SIZE);
  for (const socket of [quick, latest, large]) socket?.destroy();
  server.close();
});

it('closes responses of the client that has the most, and not an older one of another client [unread-responses]', async () => {
  const closed: string[] = [];
  const addUnread = unreadLimit(() => undefined);
  const server = createServer((request, response) => {
    const { remoteAddress = '' } = request.socket;
    response.once('prefinish', () => addUnread(response));
    response.once('close', () => closed.push(remoteAddress.replace('::ffff:', '')));
    response.end(Buffer.alloc(SIZE));
  });
  const port = await listen(server);
  const addresses = ['127.0.0.3', '127.0.0.2', '127.0.0.2', '127.0.0.2', '127.0.0.2', '127.0.0.2'];
  const sockets: Socket[] = [];
  for (const localAddress of addresses) {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    await once(socket, 'connect');
    socket.on('error', () => undefined).pause();
    const served = once(server, 'request');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await served;
    sockets.push(socket);
  }
  await eventually(() => closed.length > 1);
  expect(new Set(closed)).toEqual(new Set(['127.0.0.2']));
  for (const socket of sockets) socket.destroy();
  server.close();
});
