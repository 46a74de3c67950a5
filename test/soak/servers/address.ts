import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A fixed address of PostgreSQL, which leads to one server or another, as a virtual IP or a DNS name does. */
export class Address {
  private port: number | undefined;
  private readonly server: Server = createServer((client) => this.forward(client));
  private readonly sockets = new Set<Socket>();

  private constructor(port: number) {
    this.port = port;
  }

  /** @param port - where the server behind it listens */
  static async open(port: number): Promise<Address> {
    const address = new Address(port);
    await once(address.server.listen(0, '127.0.0.1'), 'listening');
    return address;
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${(this.server.address() as AddressInfo).port}/postgres`;
  }

  /** Breaks all connections; new ones lead to another server, or nowhere. */
  lead(port?: number): void {
    this.port = port;
    for (const socket of this.sockets) socket.resetAndDestroy();
  }

  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private forward(client: Socket): void {
    if (this.port === undefined) {
      client.on('error', () => undefined).resetAndDestroy();
      return;
    }
    const server = connect(this.port, '127.0.0.1');
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.sockets.add(from);
      from.setNoDelay();
      from.on('error', () => undefined);
      from.on('close', () => {
        this.sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  }
}
