import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';

/** A connection to a port of this machine, whose errors are of no interest. */
export async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Sends the head of a chunked request and then, for so many seconds, an endless body as fast as possible. */
export async function sendEndlessBody(port: number, request: string, seconds: number) {
  const socket = await open(port);
  let head = '';
  /** Milliseconds from the response to the end of the connection; undefined when it was still open at the end. */
  let lingered: number | undefined;
  let answeredAt: number | undefined;
  socket.on('data', (data: Buffer) => {
    answeredAt ??= performance.now();
    head += data.toString('latin1');
  });
  const cut = new Promise<void>((resolve) => {
    socket.once('close', () => {
      lingered = performance.now() - (answeredAt ?? performance.now());
      resolve();
    });
  });
  const chunk = Buffer.from(`10000\r\n${'a'.repeat(0x10000)}\r\n`);
  socket.write(request);
  const more = () => {
    while (!socket.destroyed && socket.write(chunk)) {
      // Until the buffers are full.
    }
  };
  socket.on('drain', more);
  more();
  await Promise.race([cut, delay(seconds * 1000)]);
  // Bytes that the other side took, or that the buffers of the connection hold.
  const taken = socket.bytesWritten - socket.writableLength;
  socket.destroy();
  return { head, taken, lingered };
}

/** Reads nothing until all bytes are sent, as some clients and proxies do. @returns all that was received */
export async function sendAllThenRead(port: number, bytes: string): Promise<string> {
  const socket = (await open(port)).pause();
  await new Promise((resolve) => socket.write(bytes, resolve));
  return text(socket);
}
