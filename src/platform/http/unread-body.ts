import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How long a client has to read a response before its connection is cut, in milliseconds. */
const LINGER = 1000;

/**
 * Prepares the response to a request whose body has not been read to its end: `Connection: close`, no more of it is read, and the
 * connection is cut a second later. Node would read the rest, however long it is, to use the connection again.
 */
export function closeBehindUnreadBody(request: IncomingMessage, response: ServerResponse): void {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers;
  // `complete` is set after the response when a short body arrives in one packet with its head.
  const hasArrived = request.complete || (coding === undefined && request.readableLength === Number(length));
  if (hasArrived) {
    return;
  }
  response.setHeader('Connection', 'close');
  const { socket } = request;
  // Node discards a body of which nothing was read. This reads what its buffer holds, and no more.
  request.read(0);
  // Node calls this behind the last response of a connection.
  socket.destroySoon = () => {
    request.pause();
    closeUnread(socket);
  };
}

/** Closes a connection on which data may still arrive. It is not read: closing at once would lose the response on its way. */
export function closeUnread(socket: Socket): void {
  socket.pause();
  socket.end();
  setTimeout(() => socket.destroy(), LINGER).unref();
}
