import type { Duplex } from 'node:stream';
import type { ClientBase } from 'pg';
import { streamOf } from './database-client.js';

/** Statements that wait on a shared connection before there is another one. */
const ENOUGH = 16;

/** A connection that is to be given back. */
export interface OpenConnection {
  readonly client: ClientBase;
  release(): void;
}

interface SharedConnection {
  readonly opened: Promise<OpenConnection>;
  pending: number;
}

/**
 * Some connections on which statements follow each other, without waiting for the results between them. Those of one turn of the
 * event loop go out, and come back, in one piece, which takes half the processor time.
 */
export class SharedConnections {
  private readonly connections = new Set<SharedConnection>();

  /**
   * @param open - opens another one; it is given back when nothing waits on it
   * @param mayOpen - whether there may be another one, beside so many
   */
  constructor(
    private readonly open: () => Promise<OpenConnection>,
    private readonly mayOpen: (count: number) => boolean,
  ) {}

  /** Whether a statement finds a connection. */
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

  /** The connection with the fewest statements; undefined where there is to be another one. */
  private freest(): SharedConnection | undefined {
    const [first] = [...this.connections].toSorted((a, b) => a.pending - b.pending);
    return first && first.pending >= ENOUGH && this.mayOpen(this.connections.size) ? undefined : first;
  }
}

/** What is sent in this turn of the event loop goes out in one write, at its end. */
function holdUntilEndOfTurn(stream: Duplex): void {
  if (stream.writableCorked === 0) {
    stream.cork();
    setImmediate(() => {
      stream.uncork();
    });
  }
}
