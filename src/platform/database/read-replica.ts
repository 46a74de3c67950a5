import { AsyncLocalStorage } from 'node:async_hooks';
import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { Configuration } from '../config/configuration.js';
import { Problem } from '../problems/problem.js';
import { warnOnceAMinute } from '../errors/warn-once-a-minute.js';
import type { AppDataSource } from './app-data-source.js';
import { readOptions, replicaOptions } from './data-source-options.js';
import type { DatabaseMetrics } from './database-metrics.js';
import { FULL, isUnavailable, meaningOf, sqlState } from './database-problem.js';
import { Reader, sharesOf } from './reader.js';
import { HAS_PARAMETERS } from './require-session.js';

/** Milliseconds without an attempt to connect, after a lost connection or a failed attempt. */
const PAUSE = 1000;

/** Identifies the database and its physical copies, which are its replicas, and databases restored from its backups. */
const IDENTITY = `SELECT concat_ws(' ', system_identifier, oid) AS identity
  FROM pg_control_system(), pg_database WHERE datname = current_database()`;

const STRANGER =
  'DATABASE_READ_URL must lead to streaming replicas of the database in DATABASE_URL, and not through a pooler.';

/** A statement that fails unless the server is a copy of the primary and keeps a session's limits, unlike a pooler. */
export async function originCheck(primary: DataSource): Promise<string> {
  const [{ identity }] = await primary.query<[{ identity: string }]>(IDENTITY);
  const isCopy = `(${IDENTITY}) = '${identity}' AND ${HAS_PARAMETERS}`;
  return `DO $$ BEGIN IF (${isCopy}) IS NOT TRUE THEN RAISE '${STRANGER}'; END IF; END $$`;
}

/**
 * The read replicas at `DATABASE_READ_URL`. The first read or scrape of metrics that could use them connects in the
 * background, and does so again after a loss.
 */
export class ReadReplica {
  private readonly logger = new Logger('ReadReplica');
  private readonly warn = warnOnceAMinute(this.logger);
  /** Undefined until it is connected, and while it is away. */
  private current: Reader | undefined;
  private retryAt = 0;
  /** Kept for all connections, because they remember the password that the replica accepted last. */
  private readonly options;
  /** Detaches background work from the request that started it. */
  private readonly outside = AsyncLocalStorage.snapshot();

  constructor(
    private readonly primary: AppDataSource,
    private readonly configuration: Configuration,
    metrics: DatabaseMetrics,
    private readonly signal: AbortSignal,
  ) {
    this.options = replicaOptions(configuration, metrics);
  }

  /** The connections; undefined while the replica is away: this then starts an attempt to connect, if one is due. */
  get reader(): Reader | undefined {
    const mayConnect = this.primary.isReady && !this.signal.aborted && performance.now() >= this.retryAt;
    if (!this.current && mayConnect) {
      this.retryAt = Infinity;
      void this.outside(() => this.connect());
    }
    return this.current;
  }

  /** Reads from the replica; calls `otherwise` while it is away, or for an error that the primary may not have. */
  async read<T>(read: (reader: Reader) => Promise<T>, otherwise: () => Promise<T>): Promise<T> {
    const { reader } = this;
    if (!reader) {
      return otherwise();
    }
    try {
      return await read(reader);
    } catch (error) {
      // SQLSTATE class 42: the replica may lag behind a migration.
      if (error instanceof Problem || !(isUnavailable(error) || sqlState(error).startsWith('42'))) {
        throw error;
      }
      const { code } = ((error as Error).cause ?? {}) as { readonly code?: unknown };
      if (meaningOf(error) === 'connection' && code !== FULL) {
        this.leave(reader, error);
      } else {
        this.warn('list not read from the replica', error);
      }
      return otherwise();
    }
  }

  async stop(): Promise<void> {
    const { current } = this;
    // First, so that reads that fail during this do not destroy it again.
    this.current = undefined;
    await current?.destroy();
  }

  private leave(reader: Reader, reason: unknown): void {
    if (this.current === reader) {
      this.current = undefined;
      this.retryAt = performance.now() + PAUSE;
      this.warn('replica away', reason);
      // Closes connections at once, so that no statement waits for a server that does not respond.
      void this.outside(() => reader.destroy());
    }
  }

  private async connect(): Promise<void> {
    const { configuration, options } = this;
    let reader: Reader | undefined;
    try {
      const shares = sharesOf(configuration.DATABASE_POOL_SIZE);
      reader = new Reader(options, readOptions(configuration).timeout, shares, await originCheck(this.primary));
      (await reader.connect()).release();
      this.signal.throwIfAborted();
      this.current = reader;
      this.logger.log({ msg: 'replica ready' });
    } catch (error) {
      if (!this.signal.aborted) {
        this.warn('replica not ready', error);
      }
      this.retryAt = performance.now() + PAUSE;
      await reader?.destroy();
    }
  }
}
