import { AsyncLocalStorage } from 'node:async_hooks';
import { Logger } from '@nestjs/common';
import type { DataSource, EntityManager } from 'typeorm';
import { AppDataSource, keepTrying } from './app-data-source.js';
import type { PostgresDataSourceOptions } from './data-source-options.js';
import { CONFLICT, isAway, sqlState } from './database-problem.js';

/** A streaming replica of the database. Without a data source it is away, or lacks migrations. */
interface Replica {
  readonly host: string;
  readonly options: PostgresDataSourceOptions;
  source: AppDataSource | undefined;
}

/** The streaming replicas of the database, in turn. */
export class ReadReplicas {
  private readonly logger = new Logger('ReadReplica');
  private readonly replicas: readonly Replica[];
  private reads = 0;
  /** Runs what goes on beyond the request that gave rise to it. */
  private readonly outside = AsyncLocalStorage.snapshot();

  /**
   * Connects to all in the background, as often as it takes.
   *
   * @param options - of a data source for each
   * @param signal - ends the attempts
   */
  constructor(
    options: readonly PostgresDataSourceOptions[],
    private readonly signal: AbortSignal,
  ) {
    this.replicas = options.map((each) => ({ host: new URL(each.url ?? '').host, options: each, source: undefined }));
    this.replicas.forEach((replica) => void this.connect(replica));
  }

  /** Of each; undefined for one that cannot be used now. */
  get dataSources(): readonly (DataSource | undefined)[] {
    return this.replicas.map(({ source }) => source);
  }

  /**
   * Reads from the next one that can be used.
   *
   * @param otherwise - reads elsewhere, if there is none, or that one failed for reasons of its own
   */
  async read<T>(read: (manager: EntityManager) => Promise<T>, otherwise: () => Promise<T>): Promise<T> {
    const ready = this.replicas.filter((replica) => replica.source);
    const replica = ready[this.reads++ % ready.length];
    const source = replica?.source;
    if (!source) {
      return otherwise();
    }
    try {
      return await read(source.manager);
    } catch (error) {
      if (isAway(error) || replica.source !== source) {
        this.leave(replica, source, error);
      } else if (sqlState(error) !== CONFLICT) {
        // It would fail elsewhere, too. What the replica has just received in the middle of a read would not.
        throw error;
      }
      return otherwise();
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.replicas.map(async ({ source }) => source?.destroy()));
  }

  private leave(replica: Replica, source: AppDataSource, reason: unknown): void {
    if (replica.source === source) {
      replica.source = undefined;
      this.logger.warn({ msg: 'replica away', host: replica.host, err: reason });
      this.outside(() => {
        void source.destroy();
        void this.connect(replica);
      });
    }
  }

  private connect(replica: Replica): Promise<void> {
    const { host, options } = replica;
    const attempt = async () => {
      const source = new AppDataSource(options);
      await source.open(refuse, this.signal);
      replica.source = source;
      this.logger.log({ msg: 'replica ready', host });
    };
    const onFailure = (error: unknown, retryInMs: number) => {
      this.logger.warn({ msg: 'replica not ready', host, err: error, retryInMs });
    };
    return keepTrying(attempt, onFailure, this.signal);
  }
}

function refuse(migrations: readonly string[]): Promise<never> {
  return Promise.reject(new Error(`The replica has not received ${migrations.join(', ')} yet.`));
}
