import { AsyncLocalStorage } from 'node:async_hooks';
import { Logger } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AppDataSource } from './app-data-source.js';
import type { PostgresDataSourceOptions } from './data-source-options.js';
import { CONFLICT, isAway, sqlState } from './database-problem.js';
import { retryWithBackoff } from './retry-with-backoff.js';

/** The streaming replicas of the database, used in turn. */
export class ReadReplicas {
  readonly dataSources: readonly AppDataSource[];
  private readonly logger = new Logger('ReadReplica');
  private reads = 0;
  /** Detaches background work from the request that started it. */
  private readonly outside = AsyncLocalStorage.snapshot();

  /** Connects to all replicas in the background with retries. */
  constructor(
    options: readonly PostgresDataSourceOptions[],
    private readonly signal: AbortSignal,
  ) {
    this.dataSources = options.map((each) => new AppDataSource(each));
    this.dataSources.forEach((source) => void this.connect(source));
  }

  /** Reads from the next available replica; calls `otherwise` if none is available or the replica itself failed. */
  async read<T>(read: (manager: EntityManager) => Promise<T>, otherwise: () => Promise<T>): Promise<T> {
    const ready = this.dataSources.filter(({ isReady }) => isReady);
    const source = ready[this.reads++ % ready.length];
    if (!source) {
      return otherwise();
    }
    try {
      return await read(source.manager);
    } catch (error) {
      if (isAway(error)) {
        this.leave(source, error);
      } else if (source.isReady && sqlState(error) !== CONFLICT) {
        // It would fail on the primary, too, unlike a conflict with recovery on the replica.
        throw error;
      }
      return otherwise();
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.dataSources.map((source) => source.destroy()));
  }

  private leave(source: AppDataSource, reason: unknown): void {
    if (source.isReady) {
      this.logger.warn({ msg: 'replica away', host: hostOf(source), err: reason });
      this.outside(() => void source.destroy().then(() => this.connect(source)));
    }
  }

  private connect(source: AppDataSource): Promise<void> {
    const attempt = async () => {
      await source.open(refuse, this.signal);
      this.logger.log({ msg: 'replica ready', host: hostOf(source) });
    };
    const onFailure = (err: unknown, retryInMs: number) => {
      this.logger.warn({ msg: 'replica not ready', host: hostOf(source), err, retryInMs });
    };
    return retryWithBackoff(attempt, onFailure, this.signal);
  }
}

function hostOf({ options }: AppDataSource): string {
  return new URL('url' in options ? (options.url ?? '') : '').host;
}

function refuse(migrations: readonly string[]): Promise<never> {
  return Promise.reject(new Error(`The replica has not received ${migrations.join(', ')} yet.`));
}
