import { createServer, type Socket } from 'node:net';
import { listen } from './listen.js';

function serve(answer: (data: Buffer, socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('data', (data) => answer(Buffer.from(data), socket));
  });
  return listen(server);
}

/** A server that accepts connections and data, and never responds. @returns its port */
export function silentServer(): Promise<number> {
  return serve(() => undefined);
}

/** A PostgreSQL that asks for the password and refuses it (PostgreSQL manual, "Message Flow"). @returns its port */
export function refusingPostgres(message = 'password authentication failed'): Promise<number> {
  const PASSWORD_MESSAGE = 'p'.charCodeAt(0);
  const askForPassword = Buffer.from('R\0\0\0\x08\0\0\0\x03');
  const refusal = postgresError('28P01', message);
  return serve((data, socket) => (data[0] === PASSWORD_MESSAGE ? socket.end(refusal) : socket.write(askForPassword)));
}

/** A fatal ErrorResponse (PostgreSQL manual, "Message Formats"). */
export function postgresError(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`);
  const head = Buffer.from('E\0\0\0\0');
  head.writeInt32BE(4 + fields.length, 1);
  return Buffer.concat([head, fields]);
}

/** The commands that a client of Redis has sent: arrays of bulk strings such as `*2`, `$4`, `auth`, `$6`, `secret` (its protocol). */
function commandsIn(data: Buffer): string[][] {
  const [, ...commands] = data.toString().split(/^\*\d+\r\n/m);
  return commands.map((command) => command.split('\r\n').filter((line) => line !== '' && !line.startsWith('$')));
}

const bulkString = (text: string) => `$${text.length}\r\n${text}\r\n`;

/** A Redis without AUTH, as after a rename: its errors quote the command. @returns its port */
export function refusingRedis(): Promise<number> {
  return serve((data, socket) => {
    for (const [name, ...args] of commandsIn(data)) {
      const quoted = args.map((text) => `'${text}' `).join('');
      socket.write(`-ERR unknown command '${name}', with args beginning with: ${quoted}\r\n`);
    }
  });
}

/** A Redis of another version, which takes each script for the rate limit's. @returns its port */
export function redisOfVersion(version: string): Promise<number> {
  const info = `redis_version:${version}\r\nrole:master\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n`;
  const responses: Record<string, string> = { info: bulkString(info), evalsha: '*3\r\n:0\r\n:0\r\n:0\r\n' };
  return serve((data, socket) => {
    for (const [name = ''] of commandsIn(data)) socket.write(responses[name.toLowerCase()] ?? '+OK\r\n');
  });
}

/** A Redis that has loaded its data once it has been asked, though it expects that to take a minute. @returns its port */
export function loadingRedis(): Promise<number> {
  const infos = ['loading:1\r\nloading_eta_seconds:60\r\n'];
  return serve((data, socket) => {
    for (const [name = ''] of commandsIn(data)) {
      socket.write(name.toLowerCase() === 'info' ? bulkString(infos.shift() ?? 'loading:0\r\n') : '+OK\r\n');
    }
  });
}
