import { AsyncLocalStorage } from 'node:async_hooks';
import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { PostgresDataSourceOptions } from './data-source-options.js';
import { keepTrying } from './keep-trying.js';
import { openDataSource } from './open-data-source.js';

/** A streaming replica of the database, which may be away at any time. */
export class ReadReplica {
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
    this.current = await openDataSource(this.options, refuse, this.shutdown.signal);
    this.logger.log({ msg: 'replica ready', host: this.host });
  }
}

function refuse(migrations: readonly string[]): Promise<never> {
  return Promise.reject(new Error(`The replica has not received ${migrations.join(', ')} yet.`));
}
