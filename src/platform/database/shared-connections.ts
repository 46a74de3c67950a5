import type { Duplex } from 'node:stream';
import type { Client, ClientBase } from 'pg';
import { type DataSource, type EntityManager, type EntityMetadata, QueryFailedError } from 'typeorm';
import { giveBack } from './app-data-source.js';
import { type DatabaseClientConfig, streamOf } from './database-client.js';

/** Pending statements on each shared connection before another one is opened. */
const ENOUGH = 16;

/** A connection of the pool. */
export interface OpenConnection {
  readonly client: ClientBase;
  readonly release: () => void;
}

interface SharedConnection {
  readonly metadata: EntityMetadata;
  readonly opened: Promise<OpenConnection>;
  /** Undefined until it is open. */
  client?: ClientBase;
  pending: number;
  /** Closes the connection if it is not used any more. */
  timer?: NodeJS.Timeout;
}

/**
 * Connections with pipelined statements, by entity, so that a lock on one table does not block others. Statements of one event loop
 * turn are one write, which halves the processor time.
 */
export class SharedConnections {
  private readonly connections = new Set<SharedConnection>();

  /**
   * @param mayOpen - whether another connection may be opened beside `count` of the entity
   * @param keep - milliseconds for which an unused connection stays open
   */
  constructor(
    private readonly open: (dataSource: DataSource) => Promise<OpenConnection>,
    private readonly mayOpen: (dataSource: DataSource, count: number) => boolean,
    private readonly keep = 0,
  ) {}

  /** Connections of all entities. */
  get size(): number {
    return this.connections.size;
  }

  /** Whether the entity has a connection, or may open one. */
  has(metadata: EntityMetadata): boolean {
    return this.next(metadata) !== undefined || this.mayOpen(metadata.dataSource, 0);
  }

  /** @param send - sends one statement synchronously */
  async use<T>(metadata: EntityMetadata, send: (client: ClientBase) => Promise<T>): Promise<T> {
    const connection = this.next(metadata) ?? { metadata, opened: this.open(metadata.dataSource), pending: 0 };
    this.connections.add(connection);
    clearTimeout(connection.timer);
    connection.pending += 1;
    try {
      const { client } = await connection.opened;
      connection.client = client;
      holdUntilEndOfTurn(streamOf(client));
      return await send(client);
    } finally {
      connection.pending -= 1;
      if (connection.pending === 0) {
        this.leave(connection);
      }
    }
  }

  /** The first connection of an entity with few pending statements, so that most share a write; undefined to open another one. */
  private next(metadata: EntityMetadata): SharedConnection | undefined {
    const own = [...this.connections].filter((each) => each.metadata === metadata && !isLost(each));
    const free = own.find(({ pending }) => pending < ENOUGH);
    return free || this.mayOpen(metadata.dataSource, own.length) ? free : own.toSorted((a, b) => a.pending - b.pending)[0];
  }

  private leave(connection: SharedConnection): void {
    const close = () => {
      this.connections.delete(connection);
      void connection.opened.then(({ release }) => release()).catch(() => undefined);
    };
    if (this.keep === 0 || !connection.client || isLost(connection)) {
      close();
    } else {
      connection.timer = setTimeout(close, this.keep).unref();
    }
  }
}

function isLost({ client }: SharedConnection): boolean {
  return client !== undefined && streamOf(client).destroyed;
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

/** Opens a connection with settings until its release. @param settings - by PostgreSQL name; times in milliseconds. @throws QueryFailedError */
export async function openLimited(
  dataSource: DataSource,
  settings: Readonly<Record<string, string | number>>,
): Promise<OpenConnection & { readonly manager: EntityManager }> {
  const isSession = hasSessions(dataSource);
  const runner = dataSource.createQueryRunner();
  const client = (await runner.connect()) as Client;
  const release = () => void giveBack(runner, client, isSession ? 'RESET ALL' : 'ROLLBACK');
  const set = Object.entries(settings).map(([name, value]) => `SET ${isSession ? 'SESSION' : 'LOCAL'} ${name} = ${value}`);
  const text = [...(isSession ? [] : ['START TRANSACTION READ ONLY']), ...set].join('; ');
  try {
    await client.query(text);
  } catch (error) {
    release();
    throw new QueryFailedError(text, [], error as Error);
  }
  return { client, manager: runner.manager, release };
}

/** Whether connections are sessions on a server: false behind a pooler and for the embedded database. */
export function hasSessions({ options }: DataSource): boolean {
  return (options.extra as DatabaseClientConfig | undefined)?.hasSessions === true;
}
