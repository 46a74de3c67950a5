import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** Ports below those that systems give to outgoing connections, so that none of these takes one before its server does. */
const FIRST = 20_000;
/** Ports for each of the test processes that run side by side. */
const SHARE = 2000;

const { JEST_WORKER_ID: worker = '1' } = process.env;

let next = FIRST + ((Number(worker) - 1) % 5) * SHARE + Math.floor(Math.random() * SHARE);

/** A port of 127.0.0.1 that nothing listens on, for a server that must be told its port. None is given twice. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = (next += 1);
    if (await isFree(port)) {
      return port;
    }
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port === port;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
