import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

const signals = new WeakMap<Socket, AbortSignal>();

/**
 * A signal that is aborted when the client of a request closes its connection, or its half of it: a client that gives up sends
 * nothing else. One for all requests of a connection.
 */
export function clientGone({ socket }: IncomingMessage): AbortSignal {
  let signal = signals.get(socket);
  if (!signal) {
    const controller = new AbortController();
    const abort = () => {
      controller.abort(new Error('The client has closed its connection.'));
    };
    ({ signal } = controller);
    signals.set(socket, signal);
    if (socket.destroyed || socket.readableEnded) {
      abort();
    } else {
      socket.once('end', abort).once('close', abort);
    }
  }
  return signal;
}
