import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { checked, type Load, type Outcome } from './load.ts';
import { quantile } from './statistics.ts';

/** Milliseconds for the last responses. */
const LAST = 5000;

/** Sends requests when they are due, whether or not the responses to others have come. */
class OpenLoop {
  readonly latencies: number[] = [];
  refused = 0;
  broken = 0;
  private count = 0;
  private readonly idle: Socket[] = [];
  /** Times at which requests were to be sent that wait for a connection, in milliseconds. */
  private readonly due: number[] = [];
  private readonly requests: readonly string[];

  constructor(requests: readonly string[]) {
    this.requests = requests;
  }

  get isDone(): boolean {
    return this.latencies.length + this.broken === this.count && this.due.length === 0;
  }

  async open(url: string, connections: number): Promise<void> {
    const { hostname: host, port } = new URL(url);
    for (let opened = 0; opened < connections; opened += 1) {
      const socket = connect({ host, port: Number(port), noDelay: true }).setEncoding('latin1');
      await once(socket, 'connect');
      this.idle.push(socket);
    }
  }

  close(): void {
    this.idle.forEach((socket) => socket.destroy());
  }

  /** Sends a request on an idle connection, or as soon as one is. */
  send(intended: number): void {
    const socket = this.idle.pop();
    if (!socket) {
      this.due.push(intended);
      return;
    }
    this.count += 1;
    const request = this.requests[this.count % this.requests.length] ?? '';
    let text = '';
    const end = () => {
      socket.removeAllListeners();
      const next = this.due.shift();
      this.idle.push(socket);
      if (next !== undefined) this.send(next);
    };
    socket.on('data', (part: string) => {
      text += part;
      if (!isWhole(text)) return;
      this.latencies.push(performance.now() - intended);
      this.refused += Number(text[9]) >= 4 ? 1 : 0;
      end();
    });
    socket.once('close', () => {
      this.broken += 1;
    });
    socket.write(
      request.replaceAll('{word}', String(10_000 + (this.count % 10_000))).replaceAll('{key}', String(this.count)),
      'latin1',
    );
  }
}

/** Whether a response is complete, whose length is in its head. */
function isWhole(text: string): boolean {
  const head = text.indexOf('\r\n\r\n');
  const [, length] = /content-length: (\d+)/i.exec(head < 0 ? '' : text.slice(0, head)) ?? [];
  return length !== undefined && text.length >= head + 4 + Number(length);
}

/**
 * Sends requests at random times, so many a second on average. Latencies begin when a request was to be sent, not when a connection was
 * free for it (as of `wrk2`). Autocannon sends the requests of a second together, at its start.
 */
export async function sendAtRate(load: Load, rate: number, seconds: number): Promise<Outcome> {
  const loop = new OpenLoop(load.requests);
  await loop.open(load.url, load.connections ?? 64);
  try {
    const begin = performance.now();
    const end = begin + seconds * 1000;
    for (let intended = begin; intended < end;) {
      while (intended <= performance.now() && intended < end) {
        loop.send(intended);
        intended += (-Math.log(1 - Math.random()) * 1000) / rate;
      }
      await delay(1);
    }
    for (const deadline = end + LAST; !loop.isDone && performance.now() < deadline;) await delay(5);
    const { latencies, refused, broken } = loop;
    const [p50, p99] = [0.5, 0.99].map((share) => quantile(latencies, share) * 1000) as [number, number];
    const microseconds = (performance.now() - begin) * 1000;
    return checked(load, {
      requests: latencies.length,
      microseconds,
      p50,
      p99,
      refused,
      broken: loop.isDone ? broken : broken + 1,
    });
  } finally {
    loop.close();
  }
}
