import { AsyncLocalStorage } from 'node:async_hooks';
import { Logger } from '@nestjs/common';
import type { DataSource, EntityManager } from 'typeorm';
import { AppDataSource } from './app-data-source.js';
import type { PostgresDataSourceOptions } from './data-source-options.js';
import { isAway } from './database-problem.js';
import { CONFLICT, sqlState } from './sql-state.js';
import { keepTrying, openDataSource } from './open-data-source.js';

/** A streaming replica of the database, which may be away at any time. */
class ReadReplica {
  private readonly logger = new Logger('ReadReplica');
  private readonly shutdown = new AbortController();
  private readonly host: string;
  private current: DataSource | undefined;
  private connecting: Promise<void> | undefined;
  /** Runs what goes on beyond the request that gave rise to it. */
  private readonly outside = AsyncLocalStorage.snapshot();

  constructor(private readonly options: PostgresDataSourceOptions) {
    this.host = new URL(options.url ?? '').host;
  }

  /** What to read from; undefined while the replica is away or lacks migrations. */
  get dataSource(): DataSource | undefined {
    return this.current;
  }

  /** Connects in the background, as often as it takes. */
  connect(): void {
    const onFailure = (error: unknown, retryInMs: number) => {
      this.logger.warn({ msg: 'replica not ready', host: this.host, err: error, retryInMs });
    };
    this.connecting = keepTrying(() => this.connectOnce(), onFailure, this.shutdown.signal);
  }

  /** Reads no more from a data source that failed, and connects anew. */
  leave(failed: DataSource, reason: unknown): void {
    if (this.current === failed) {
      this.current = undefined;
      this.logger.warn({ msg: 'replica away', host: this.host, err: reason });
      this.outside(() => {
        // Those who still wait for it have given up by then.
        setTimeout(() => {
          failed.destroy().catch(() => undefined);
        }, this.options.connectTimeoutMS).unref();
        this.connect();
      });
    }
  }

  async stop(): Promise<void> {
    this.shutdown.abort();
    await this.connecting;
    await this.current?.destroy();
  }

  private async connectOnce(): Promise<void> {
    const dataSource = new AppDataSource(this.options);
    await openDataSource(dataSource, refuse, this.shutdown.signal);
    this.current = dataSource;
    this.logger.log({ msg: 'replica ready', host: this.host });
  }
}

function refuse(migrations: readonly string[]): Promise<never> {
  return Promise.reject(new Error(`The replica has not received ${migrations.join(', ')} yet.`));
}

/** The streaming replicas of the database, in turn. */
export class ReadReplicas {
  private readonly replicas: readonly ReadReplica[];
  private reads = 0;

  /** @param options - of a data source for each */
  constructor(options: readonly PostgresDataSourceOptions[]) {
    this.replicas = options.map((each) => new ReadReplica(each));
  }

  /** Of each; undefined for one that cannot be used now. */
  get dataSources(): readonly (DataSource | undefined)[] {
    return this.replicas.map(({ dataSource }) => dataSource);
  }

  /** Connects to all, in the background, as often as it takes. */
  connect(): void {
    this.replicas.forEach((replica) => {
      replica.connect();
    });
  }

  /**
   * Reads from the next one that can be used.
   *
   * @param otherwise - reads elsewhere, if there is none, or that one failed for reasons of its own
   */
  async read<T>(read: (manager: EntityManager) => Promise<T>, otherwise: () => Promise<T>): Promise<T> {
    const ready = this.replicas.flatMap((replica) => (replica.dataSource ? [{ replica, source: replica.dataSource }] : []));
    const next = ready[this.reads % ready.length];
    this.reads += 1;
    if (!next) {
      return otherwise();
    }
    try {
      return await read(next.source.manager);
    } catch (error) {
      if (isAway(error)) {
        next.replica.leave(next.source, error);
        return otherwise();
      }
      // What the replica has just received came in the way; it is as well as before.
      if (sqlState(error) === CONFLICT) {
        return otherwise();
      }
      // It would fail elsewhere, too.
      throw error;
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.replicas.map((replica) => replica.stop()));
  }
}
