import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Where to stop: before PostgreSQL sees the statement, or after it has carried it out and before the answer is seen. */
export type Stage = 'before' | 'after';

interface Trap {
  isHere(statement: string): boolean;
  stage: Stage;
  action(): void;
}

/** A hop between a service and PostgreSQL that lets nothing more pass at one exact point of a conversation. */
export class StatementGate {
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer((client) => this.accept(client));
  private trap: Trap | undefined;

  private constructor(private readonly target: URL) {}

  /** @param url - of the database behind it */
  static async start(url: string): Promise<StatementGate> {
    const gate = new StatementGate(new URL(url));
    gate.server.listen(0, '127.0.0.1');
    await once(gate.server, 'listening');
    return gate;
  }

  /** The same database, through this gate. */
  get url(): string {
    const url = new URL(this.target);
    url.hostname = '127.0.0.1';
    url.port = String((this.server.address() as AddressInfo).port);
    return url.href;
  }

  /**
   * The first statement that is meant, or its answer, goes no further, nor does anything after it on its connection.
   *
   * @param isHere - asked once for each statement, in order; what it is given contains the statement as PostgreSQL's protocol
   *   wraps it
   * @param action - what to do at this moment
   */
  stopAt(isHere: (statement: string) => boolean, stage: Stage, action: () => void): void {
    this.trap = { isHere, stage, action };
  }

  async stop(): Promise<void> {
    this.server.close();
    this.sockets.forEach((socket) => socket.destroy());
    await once(this.server, 'close');
  }

  private accept(client: Socket): void {
    const upstream = connect(Number(this.target.port || 5432), this.target.hostname);
    this.track(client, upstream);
    this.track(upstream, client);
    let awaited: Trap | undefined;
    let isShut = false;
    const shut = (trap: Trap) => {
      isShut = true;
      trap.action();
    };
    client.on('data', (statement) => {
      const { trap } = this;
      if (trap?.isHere(statement.toString('latin1'))) {
        this.trap = undefined;
        awaited = trap;
      }
      if (awaited?.stage === 'before' && !isShut) {
        shut(awaited);
      }
      if (!isShut) {
        upstream.write(statement);
      }
    });
    upstream.on('data', (answer) => {
      if (awaited && !isShut) {
        shut(awaited);
      }
      if (!isShut) {
        client.write(answer);
      }
    });
  }

  /** Without errors, and no longer than the other end. */
  private track(socket: Socket, other: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.sockets.delete(socket);
      other.destroy();
    });
  }
}
