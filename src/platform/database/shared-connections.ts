import type { Duplex } from 'node:stream';
import type { Pool, PoolClient } from 'pg';
import { failedByName, send, type Statement, streamOf, unnamed } from './database-client.js';
import { meaningOf } from './database-problem.js';

/** Milliseconds after which a connection is replaced: its server may have become a read replica, or lost it unnoticed. */
export const SHARED_LIFETIME = 30_000;

interface SharedConnection {
  readonly opened: Promise<PoolClient>;
  pending: number;
}

/**
 * Connections with pipelined statements, which must be short, because each waits for those before it. Statements of one
 * event loop turn are sent in one write, which halves the CPU time.
 */
export class SharedConnections {
  private readonly connections = new Set<SharedConnection>();

  /**
   * @param pool - from which connections are taken when they are needed, and kept for `lifetime`
   * @param enough - pending statements on each connection before another one is opened
   * @param lifetime - of a connection, in milliseconds
   */
  constructor(
    readonly pool: Pool,
    private readonly enough: number,
    private readonly lifetime = SHARED_LIFETIME,
  ) {}

  /** The number of connections that were taken from the pool and have no pending statement. */
  get idleCount(): number {
    return [...this.connections].filter(({ pending }) => pending === 0).length;
  }

  /** @throws QueryFailedError, or the pool's error */
  async send(statement: Statement): Promise<unknown[][]> {
    const connection = this.next();
    connection.pending += 1;
    try {
      const client = await connection.opened;
      holdUntilEndOfTurn(streamOf(client));
      return await send(client, statement);
    } catch (error) {
      // The prepared statement is invalid: repeats it unprepared, and replaces its connection.
      const isRepeated = failedByName(statement, error);
      if (isRepeated || meaningOf(error) === 'connection') {
        this.leave(connection);
      }
      if (!isRepeated) {
        throw error;
      }
      return await this.send(unnamed(statement));
    } finally {
      connection.pending -= 1;
    }
  }

  async end(): Promise<void> {
    this.connections.forEach((connection) => this.leave(connection));
    await this.pool.end();
  }

  /** The first connection with few pending statements, so that most share a write; else a new or the least busy one. */
  private next(): SharedConnection {
    let least: SharedConnection | undefined;
    for (const each of this.connections) {
      if (each.pending < this.enough) {
        return each;
      }
      least = !least || each.pending < least.pending ? each : least;
    }
    return least && this.connections.size >= this.pool.options.max ? least : this.open();
  }

  private open(): SharedConnection {
    const connection: SharedConnection = { opened: this.pool.connect(), pending: 0 };
    this.connections.add(connection);
    const leave = () => this.leave(connection);
    void connection.opened.then((client) => {
      setTimeout(leave, this.lifetime).unref();
      return client.once('end', leave);
    }, leave);
    return connection;
  }

  /** Takes no more statements for a connection, which closes after those that are pending. */
  private leave(connection: SharedConnection): void {
    if (this.connections.delete(connection)) {
      connection.opened.then(
        (client) => client.release(true),
        () => undefined,
      );
    }
  }
}

/** Joins all writes to a stream in this event loop turn into one. */
export function holdUntilEndOfTurn(stream: Duplex): void {
  if (stream.writableCorked === 0) {
    stream.cork();
    setImmediate(() => stream.uncork());
  }
}
