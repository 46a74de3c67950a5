import { once } from 'node:events';
import { createServer } from 'node:net';
import { OperatorError } from '../errors/operator-error.js';

/** The address of the API on this machine. */
export function originOf(host: string | undefined, port: number): string {
  const name = host === undefined || /^[0.:]+$/.test(host) ? 'localhost' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

export async function tryToListen(port: number, host: string | undefined): Promise<void> {
  const server = createServer((socket) => socket.destroy()).listen(port, host);
  await once(server, 'listening');
  await once(server.close(), 'close');
}

/** Why a port cannot be used, and the start of the fix, by the code of Node's error. */
const PORT_FAULTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use. Stop the process that listens on it,',
  EACCES: `needs a privilege that user ${process.getuid?.()} does not have. Grant it,`,
};

/** Error codes for an address of another machine, of an IP version that is off, and a link-local one without its zone. */
const HOST_FAULTS: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL']);

/** @param variable - environment variable of the port. @throws OperatorError if the port or address cannot be used */
export async function listenOn<T>(variable: string, port: number, listen: (port: number) => Promise<T>): Promise<T> {
  try {
    return await listen(port);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const fault = PORT_FAULTS[code];
    if (HOST_FAULTS.has(code)) {
      throw new OperatorError(
        'HOST is not an address of this machine: choose one of its addresses, or unset HOST to use all.',
      );
    }
    throw fault === undefined ? error : new OperatorError(`Port ${port} ${fault} or choose another port with ${variable}.`);
  }
}
