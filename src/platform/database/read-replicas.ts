import { AsyncLocalStorage } from 'node:async_hooks';
import { Logger } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Problem } from '../http/problem.js';
import type { AppDataSource } from './app-data-source.js';
import { meaningOf } from './database-problem.js';

/** The streaming replicas of the database, used in turn. */
export class ReadReplicas {
  private readonly logger = new Logger('ReadReplica');
  private reads = 0;
  /** Detaches background work from the request that started it. */
  private readonly outside = AsyncLocalStorage.snapshot();

  /** Connects to all replicas in the background with retries. */
  constructor(
    private readonly dataSources: readonly AppDataSource[],
    private readonly signal: AbortSignal,
  ) {
    dataSources.forEach((source) => void this.connect(source));
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
      const meaning = meaningOf(error);
      if (meaning === 'connection') {
        this.leave(source, error);
      } else if (source.isReady && meaning !== 'conflict' && (meaning !== 'unavailable' || error instanceof Problem)) {
        // It would fail on the primary, too, unlike a conflict with recovery there, or a pool without a free connection.
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

  private async connect(source: AppDataSource): Promise<void> {
    const host = hostOf(source);
    await source.openWithRetries(this.signal, (err, retryInMs) => {
      this.logger.warn({ msg: 'replica not ready', host, err, retryInMs });
    });
    if (source.isReady) {
      this.logger.log({ msg: 'replica ready', host });
    }
  }
}

function hostOf({ options }: AppDataSource): string {
  return new URL(options.url ?? '').host;
}
