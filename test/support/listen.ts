import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';

const servers = new Set<Server>();
const sockets = new Set<Socket>();

// A test that fails must leave no server behind either.
afterAll(() => {
  for (const server of servers) server.close();
  for (const socket of sockets) socket.destroy();
});

/** Listens on any free port of 127.0.0.1 until the tests of the file have ended. @returns the port */
export async function listen(server: Server): Promise<number> {
  servers.add(server.on('connection', (socket) => sockets.add(socket)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}
