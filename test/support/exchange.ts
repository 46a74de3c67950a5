import { once } from 'node:events';
import { type ClientRequest, type IncomingHttpHeaders, request, type RequestOptions } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { answerTo, HANG } from './http-client.js';

/** A request whose body is sent in parts, each so many milliseconds after the last. */
export type Sent = RequestOptions & { parts?: readonly (string | Buffer)[]; pause?: number };

/** What a client has received, with the number of responses `100 Continue` before. */
export interface Received {
  status: number | undefined;
  headers: IncomingHttpHeaders;
  body: string;
  continued: number;
}

/**
 * Sends a request on a connection of its own, and receives the response also while the body is sent. With `Expect: 100-continue`, the
 * body waits for a response.
 *
 * @throws Error without a complete response: refused, reset, or silent for {@link HANG}
 */
export async function exchange(url: string, { parts = [], pause = 0, ...options }: Sent): Promise<Received> {
  const outgoing = request(url, { agent: false, timeout: HANG, ...options });
  let continued = 0;
  outgoing.on('continue', () => (continued += 1));
  const answered = answerTo(outgoing);
  // The last response ends what is sent.
  const ended = answered.then(
    () => false,
    () => false,
  );
  await write(outgoing, parts, pause, ended);
  const { response, body } = await answered.finally(() => outgoing.destroy());
  return { status: response.statusCode, headers: response.headers, body, continued };
}

async function write(
  outgoing: ClientRequest,
  parts: Sent['parts'] & {},
  pause: number,
  ended: Promise<boolean>,
): Promise<void> {
  const untilEvent = (event: string) => Promise.race([once(outgoing, event).then(() => true), ended]);
  if (outgoing.getHeader('Expect') !== undefined) {
    outgoing.flushHeaders();
    if (!(await untilEvent('continue'))) return;
  }
  for (const part of parts) {
    const isTaken = !outgoing.destroyed && (outgoing.write(part) || (await untilEvent('drain')));
    if (!isTaken) return;
    await delay(pause);
  }
  outgoing.end();
}
