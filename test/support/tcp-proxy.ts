import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { listen } from './listen.js';
import { postgresError } from './refusing-servers.js';

/** Type of the message that ends a response of PostgreSQL; five bytes follow it. */
const READY_FOR_QUERY = 'Z'.charCodeAt(0);

const TERMINATED = postgresError('57P01', 'terminating connection due to administrator command');

/** When to stop: before PostgreSQL receives a statement, or after it has run it and before the client receives the response. */
export type Stage = 'before' | 'after';

interface Trap {
  isHere: (statement: string) => boolean;
  stage: Stage;
  action: () => void;
}

/** A hop between the service and PostgreSQL that can fail in the ways that networks do, also at one exact point. */
export class TcpProxy {
  /** Ends connections as a server does at its shutdown, right after its response to a message that contains this text. */
  terminateAfter: string | undefined;
  /** Drops the first matching statement, as the protocol wraps it, or its response, and everything after it. */
  trap: Trap | undefined;
  /** Milliseconds by which it delays what a client sends. */
  delay = 0;
  /** Whether neither side learns that the other one has closed its connection, as if the packet were lost. */
  losesEnds = false;
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer((client) => this.accept(client));
  private port = 0;
  private mode: 'forward' | 'refuse' | 'swallow' = 'forward';
  /** Connections of an earlier one pass nothing on. */
  private generation = 0;

  private constructor(private target: URL) {}

  /** @param url - of the database behind it */
  static async start(url: string): Promise<TcpProxy> {
    const proxy = new TcpProxy(new URL(url));
    proxy.port = await listen(proxy.server);
    return proxy;
  }

  get url(): string {
    return Object.assign(new URL(this.target), { hostname: '127.0.0.1', port: this.port }).href;
  }

  /** Breaks every connection and lets no new one live. */
  cut(): void {
    this.mode = 'refuse';
    this.sockets.forEach((socket) => socket.resetAndDestroy());
  }

  /** Breaks every connection; new ones lead to another server. */
  lead(url: string): void {
    this.cut();
    this.target = new URL(url);
    this.restore();
  }

  /** Goes on accepting connections and data, but passes nothing on. */
  swallow(): void {
    this.mode = 'swallow';
    this.generation += 1;
  }

  /** Works again, for new connections. */
  restore(): void {
    this.mode = 'forward';
    this.terminateAfter = undefined;
  }

  private accept(client: Socket): void {
    if (this.mode === 'refuse') {
      client.resetAndDestroy();
      return;
    }
    this.track(client);
    client.resume();
    if (this.mode === 'forward') {
      const upstream = connect(Number(this.target.port || 5432), this.target.hostname);
      this.track(upstream);
      client.on('close', () => {
        if (!this.losesEnds) upstream.destroy();
      });
      upstream.on('close', () => {
        if (!this.losesEnds) client.destroy();
      });
      this.forward(client, upstream);
    }
  }

  private forward(client: Socket, upstream: Socket): void {
    const { generation } = this;
    let isLast = false;
    let met: Trap | undefined;
    let isShut = false;
    const passes = (stage: Stage) => {
      if (met?.stage === stage && !isShut) {
        isShut = true;
        met.action();
      }
      return !isShut && generation === this.generation;
    };
    let sent = Promise.resolve();
    client.on('data', (message) => {
      isLast ||= this.terminateAfter !== undefined && message.includes(this.terminateAfter);
      if (this.trap?.isHere(message.toString('latin1'))) {
        met = this.trap;
        this.trap = undefined;
      }
      if (passes('before')) {
        const elapsed = delay(this.delay);
        // In order, also when the delay ends.
        sent = sent.then(() => elapsed).then(() => void upstream.write(message));
      }
    });
    upstream.on('data', (answer) => {
      if (passes('after')) client.write(answer);
      // In one write with the previous data, so that the client reads both at the same time.
      if (isLast && answer.at(-6) === READY_FOR_QUERY) {
        client.end(TERMINATED);
        upstream.destroy();
      }
    });
  }

  private track(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('error', () => undefined);
  }
}
