import { connect, isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { Client, type ClientBase, type ClientConfig } from 'pg';
import { serialize } from 'pg-protocol';
import { READ_ONLY } from './sql-state.js';
import type { StatementObserver } from './statement-observers.js';

/** What `pg` gives its clients of the options of a pool. */
export interface DatabaseClientConfig extends ClientConfig {
  /** Told of every statement. */
  statementObserver?: StatementObserver;
  /** How long a statement may take until its answer is here, in milliseconds; without it, as long as it likes. */
  statementTimeout?: number;
}

/** How long the server may take to accept the request to cancel a statement, in milliseconds. */
const CANCEL_TIMEOUT = 1000;

type QueryCallback = (error: Error | null | undefined, answer: unknown) => void;

/** No connection to the database could be made; the cause is what Node or `pg` says of it. */
export class ConnectionFailedError extends Error {
  override readonly name = 'ConnectionFailedError';
}

/**
 * A `pg` client that tells its own failures apart, does not outlive them, and tells of its statements.
 *
 * - A connection that cannot be made is a {@link ConnectionFailedError}: its causes, such as `ECONNREFUSED`, could come
 *   from anything else that the service talks to.
 * - A connection that ends at the moment at which it changes hands, from the pool to TypeORM, has no listener: the error
 *   would end the process. The next use of the connection fails.
 * - When a statement is not answered in time, it closes its connection. `pg`, with `query_timeout`, keeps it: the next statement
 *   then waits behind the one that is never answered. It also keeps the memory of every statement until the next thorough
 *   collection, by writing a function as the value of a property, which V8 takes to live long.
 * - When the server turns out to have become a replica, it closes its connection: the next one is made to the server that
 *   has the address by then.
 */
export class DatabaseClient extends Client {
  private readonly observer: StatementObserver | undefined;
  private statementTimeout: number | undefined;
  private hasGivenUp = false;

  constructor(config: DatabaseClientConfig = {}) {
    super(config);
    this.observer = config.statementObserver;
    this.statementTimeout = config.statementTimeout;
    this.on('error', () => undefined);
  }

  /** Takes and gives what `Client.connect` does: a callback, as the pool uses it, or a promise. */
  override connect(...callbacks: never[]): never {
    const [callback] = callbacks as ((error?: Error) => void)[];
    if (callback) {
      super.connect((error: Error | undefined) => {
        callback(error && connectionFailed(error));
      });
      return undefined as never;
    }
    return super.connect().catch((error: Error) => {
      throw connectionFailed(error);
    }) as never;
  }

  /** From now on statements may take as long as they need, as those of migrations do. */
  waitWithoutLimit(): void {
    this.statementTimeout = undefined;
  }

  /**
   * Asks the server to cancel the statement that runs on this connection, over another connection (PostgreSQL manual, "Canceling
   * Requests in Progress"). A pooler passes it on.
   *
   * @returns when the server has done so: until then the connection must not be used for anything else. It is closed when the
   *   server cannot be asked, as the request could arrive later.
   */
  cancelStatement(): Promise<void> {
    // The types of `pg` leave these out.
    const { processID, secretKey } = this as unknown as Record<'processID' | 'secretKey', number>;
    const { host, port } = this;
    const ssl = this.ssl as boolean | ConnectionOptions;
    const packet = serialize.cancel(processID, secretKey);
    return new Promise((resolve) => {
      const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
      const fail = () => {
        socket.destroy();
        this.giveUp();
      };
      socket
        .setTimeout(CANCEL_TIMEOUT, fail)
        .on('error', fail)
        .once('close', () => {
          resolve();
        });
      if (ssl) {
        // `pg` hides the key from those who copy the options.
        const options = { ...(ssl !== true && { ...ssl, key: ssl.key }), ...(isIP(host) === 0 && { servername: host }), socket };
        socket.write(serialize.requestSsl());
        socket.once('data', () => connectTls(options).on('error', fail).resume().write(packet));
      } else {
        socket.resume().write(packet);
      }
    });
  }

  /** Takes and gives what `Client.query` does, in all its overloads. */
  override query(...request: never[]): never {
    const [statement] = request as unknown[];
    const text = typeof statement === 'string' ? statement : (statement as { text?: unknown }).text;
    if (typeof text !== 'string') {
      return super.query(...(request as unknown as Parameters<Client['query']>)) as never;
    }
    const callback: unknown = request.at(-1);
    if (typeof callback === 'function') {
      this.send(text, request.slice(0, -1), callback as QueryCallback);
      return undefined as never;
    }
    return new Promise((resolve, reject) => {
      this.send(text, request, (error, answer) => {
        if (error) {
          reject(error);
        } else {
          resolve(answer);
        }
      });
    }) as never;
  }

  private send(text: string, request: readonly unknown[], callback: QueryCallback): void {
    const tell = this.observer?.(text);
    const timer = this.statementTimeout === undefined ? undefined : setTimeout(this.giveUp, this.statementTimeout);
    const settle: QueryCallback = (error, answer) => {
      clearTimeout(timer);
      const failure = error && this.hasGivenUp ? new Error('Query read timeout') : error;
      tell?.(failure ?? undefined);
      if (isReadOnly(failure)) {
        // With a statement under way, this breaks the connection; either way the pool drops it.
        void this.end();
      }
      callback(failure, answer);
    };
    super.query(...([...request, settle] as unknown as Parameters<Client['query']>));
  }

  /** The server does not answer any more. All that is under way fails. */
  private readonly giveUp = (): void => {
    this.hasGivenUp = true;
    void this.end();
    streamOf(this).destroy();
  };
}

/** What a client reads from and writes to, which the types of `pg` leave out. */
export function streamOf(client: ClientBase): Duplex {
  return (client as unknown as { connection: { stream: Duplex } }).connection.stream;
}

function connectionFailed(cause: Error): ConnectionFailedError {
  return new ConnectionFailedError('No connection to the database.', { cause });
}

function isReadOnly(error: unknown): boolean {
  return Error.isError(error) && 'code' in error && error.code === READ_ONLY;
}
