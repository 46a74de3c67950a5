import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A hop between the service and PostgreSQL that can fail in the ways that networks do. */
export class TcpProxy {
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer((client) => this.accept(client));
  private mode: 'forward' | 'refuse' | 'swallow' = 'forward';

  private constructor(private readonly target: URL) {}

  /** @param url - of the database behind it */
  static async start(url: string): Promise<TcpProxy> {
    const proxy = new TcpProxy(new URL(url));
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    return proxy;
  }

  /** The same database, through this proxy. */
  get url(): string {
    const url = new URL(this.target);
    url.hostname = '127.0.0.1';
    url.port = String((this.server.address() as AddressInfo).port);
    return url.href;
  }

  /** Breaks every connection and lets no new one live. */
  cut(): void {
    this.mode = 'refuse';
    this.sockets.forEach((socket) => socket.resetAndDestroy());
  }

  /** Goes on accepting connections and data, but passes nothing on. */
  swallow(): void {
    this.mode = 'swallow';
    this.sockets.forEach((socket) => socket.unpipe());
  }

  /** Works again, for new connections. */
  restore(): void {
    this.mode = 'forward';
  }

  async stop(): Promise<void> {
    this.cut();
    this.server.close();
    await once(this.server, 'close');
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
      client.pipe(upstream).pipe(client);
      client.on('close', () => upstream.destroy());
      upstream.on('close', () => client.destroy());
    }
  }

  private track(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('error', () => undefined);
  }
}
