import type { Duplex } from 'node:stream';
import type { ClientBase } from 'pg';
import { streamOf } from './database-client.js';

/** Pending statements on each shared connection before another one is opened. */
const ENOUGH = 16;

export interface OpenConnection {
  readonly client: ClientBase;
  release(): void;
}

interface SharedConnection {
  readonly opened: Promise<OpenConnection>;
  pending: number;
}

/** Connections with pipelined statements. Statements of one event loop turn are one write, which halves the processor time. */
export class SharedConnections {
  private readonly connections = new Set<SharedConnection>();

  /** @param mayOpen - whether another connection may be opened beside `count` */
  constructor(
    private readonly open: () => Promise<OpenConnection>,
    private readonly mayOpen: (count: number) => boolean,
  ) {}

  get isOpen(): boolean {
    return this.connections.size > 0 || this.mayOpen(0);
  }

  /** @param send - sends one statement synchronously */
  async use<T>(send: (client: ClientBase) => Promise<T>): Promise<T> {
    const connection = this.freest() ?? { opened: this.open(), pending: 0 };
    this.connections.add(connection);
    connection.pending += 1;
    let open: OpenConnection | undefined;
    try {
      open = await connection.opened;
      holdUntilEndOfTurn(streamOf(open.client));
      return await send(open.client);
    } finally {
      connection.pending -= 1;
      if (connection.pending === 0) {
        this.connections.delete(connection);
        open?.release();
      }
    }
  }

  /** The connection with the fewest pending statements; undefined to open another one. */
  private freest(): SharedConnection | undefined {
    const [first] = [...this.connections].toSorted((a, b) => a.pending - b.pending);
    return first && first.pending >= ENOUGH && this.mayOpen(this.connections.size) ? undefined : first;
  }
}

/** Joins all writes of this event loop turn into one. */
function holdUntilEndOfTurn(stream: Duplex): void {
  if (stream.writableCorked === 0) {
    stream.cork();
    setImmediate(() => {
      stream.uncork();
    });
  }
}
