import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Requests that are sent on one connection before its answers are waited for: the service allows no more. */
const BATCH = 16;

/**
 * Sends many requests over a few connections that stay open, without a client's work for each.
 *
 * @param requests - each as it is sent, with a Host, and none that closes its connection
 * @returns how often each status was answered
 */
export async function sendAll(port: number, requests: readonly string[], connections = 4): Promise<Record<string, number>> {
  const statuses: Record<string, number> = {};
  const left = [...requests];
  const work = async () => {
    const socket = connect(port, '127.0.0.1').setEncoding('latin1');
    await once(socket, 'connect');
    socket.on('error', () => undefined);
    for (let batch = left.splice(0, BATCH); batch.length > 0; batch = left.splice(0, BATCH)) {
      const answers = answered(socket, batch.length);
      socket.write(batch.join(''));
      for (const status of await answers) statuses[status] = (statuses[status] ?? 0) + 1;
    }
    socket.destroy();
  };
  await Promise.all(Array.from({ length: connections }, work));
  return statuses;
}

/** Waits for as many answers. @returns their statuses */
function answered(socket: Socket, count: number): Promise<string[]> {
  return new Promise((resolve, reject) => {
    let text = '';
    const fail = () => {
      reject(new Error(`The connection ended before all ${count} answers: ${text.slice(-1000)}`));
    };
    const read = (chunk: string) => {
      text += chunk;
      // Bodies hold nothing like it. What is missing of the last answer then nobody reads.
      const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status = '']) => status);
      if (statuses.length === count) {
        socket.off('data', read).off('close', fail);
        resolve(statuses);
      }
    };
    socket.on('data', read).once('close', fail);
  });
}
