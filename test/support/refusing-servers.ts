import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

const servers = new Set<Server>();

afterAll(() => servers.forEach((server) => server.close()));

/** Listens on any port of 127.0.0.1. @returns the port */
async function listen(answer: (data: Buffer, socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('data', (data) => answer(Buffer.from(data), socket));
  });
  servers.add(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A server that accepts connections and what is sent, and says nothing. @returns its port */
export function silentServer(): Promise<number> {
  return listen(() => undefined);
}

/** A PostgreSQL that asks for the password and refuses it (PostgreSQL manual, "Message Flow"). @returns its port */
export function refusingPostgres(): Promise<number> {
  const PASSWORD_MESSAGE = 'p'.charCodeAt(0);
  const askForPassword = Buffer.from('R\0\0\0\x08\0\0\0\x03');
  return listen((data, socket) => {
    if (data[0] === PASSWORD_MESSAGE) {
      const fields = Buffer.from('SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed\0\0');
      const length = Buffer.alloc(4);
      length.writeInt32BE(4 + fields.length);
      socket.end(Buffer.concat([Buffer.from('E'), length, fields]));
    } else {
      socket.write(askForPassword);
    }
  });
}

/** A Redis that knows no AUTH, as those do where it is renamed: it answers with what it was told. @returns its port */
export function refusingRedis(): Promise<number> {
  return listen((data, socket) => {
    // A command is an array of bulk strings (Redis serialization protocol): `*2`, `$4`, `auth`, `$6`, `secret`.
    for (const command of data
      .toString()
      .split(/^\*\d+\r\n/m)
      .slice(1)) {
      const [name, ...args] = command.split('\r\n').filter((line) => line !== '' && !line.startsWith('$'));
      socket.write(`-ERR unknown command '${name}', with args beginning with: ${args.map((text) => `'${text}' `).join('')}\r\n`);
    }
  });
}
