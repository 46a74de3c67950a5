import { once } from 'node:events';
import { createServer } from 'node:net';

/** Ports below the range of outgoing connections, which could otherwise take one before its server does. */
const FIRST = 20_000;
/** Ports for each of the test processes that run side by side. */
const SHARE = 2000;

/** Other programs that run beside the tests, such as the soak run, have the last share. */
const { JEST_WORKER_ID: worker = '5' } = process.env;

let next = FIRST + ((Number(worker) - 1) % 5) * SHARE + Math.floor(Math.random() * SHARE);

/** A free port of 127.0.0.1 for a server that needs a fixed one. No port is returned twice. */
export async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer();
    const port = (next += 1);
    const listening = await once(server.listen(port, '127.0.0.1'), 'listening').catch(() => undefined);
    server.close();
    if (listening) {
      return port;
    }
  }
}
