import type { Duplex } from 'node:stream';
import type { ClientBase } from 'pg';
import { streamOf } from './database-client.js';

/** Statements that wait on a shared connection before there is another one. */
const ENOUGH = 16;

/** A connection that must be released. */
export interface OpenConnection {
  readonly client: ClientBase;
  release(): void;
}

interface SharedConnection {
  readonly opened: Promise<OpenConnection>;
  pending: number;
}

/** Connections on which statements are pipelined. Those of one turn of the event loop go out in one write: half the processor time. */
export class SharedConnections {
  private readonly connections = new Set<SharedConnection>();

  /**
   * @param open - opens a connection, which is released when no statement waits on it
   * @param mayOpen - whether there may be one more beside `count`
   */
  constructor(
    private readonly open: () => Promise<OpenConnection>,
    private readonly mayOpen: (count: number) => boolean,
  ) {}

  /** Whether there is, or may be, a connection. */
  get isOpen(): boolean {
    return this.connections.size > 0 || this.mayOpen(0);
  }

  /** @param send - sends one statement, at once */
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

  /** The connection with the fewest statements; undefined to open another one. */
  private freest(): SharedConnection | undefined {
    const [first] = [...this.connections].toSorted((a, b) => a.pending - b.pending);
    return first && first.pending >= ENOUGH && this.mayOpen(this.connections.size) ? undefined : first;
  }
}

/** Sends what is written in this turn of the event loop at its end, in one write. */
function holdUntilEndOfTurn(stream: Duplex): void {
  if (stream.writableCorked === 0) {
    stream.cork();
    setImmediate(() => {
      stream.uncork();
    });
  }
}
