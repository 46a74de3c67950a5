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

/** Milliseconds after a lost connection, or a failed attempt to connect, in which no other is made. */
const PAUSE = 1000;

/** What the database has in common only with its physical copies: its replicas, and what was restored from its backups. */
const IDENTITY = `SELECT concat_ws(' ', system_identifier, oid) AS identity
  FROM pg_control_system(), pg_database WHERE datname = current_database()`;

const STRANGER =
  'DATABASE_READ_URL must lead to streaming replicas of the database in DATABASE_URL, and not through a pooler.';

/** A statement that fails unless the server is a copy of the primary, and gives a session its limits: a pooler does not. */
export async function originCheck(primary: DataSource): Promise<string> {
  const [{ identity }] = await primary.query<[{ identity: string }]>(IDENTITY);
  // Roles may have a limit, too: this one is of the session itself.
  const limit = `SELECT source FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'`;
  const isCopy = `(${IDENTITY}) = '${identity}' AND (${limit}) = 'client'`;
  return `DO $$ BEGIN IF (${isCopy}) IS NOT TRUE THEN RAISE '${STRANGER}'; END IF; END $$`;
}

/**
 * The read replicas at `DATABASE_READ_URL`. They are connected, also again, in the background of the first read or scrape of
 * metrics that could use them.
 */
export class ReadReplica {
  private readonly logger = new Logger('ReadReplica');
  private readonly warn = warnOnceAMinute(this.logger);
  /** Undefined until it is connected, and while it is away. */
  private current: Reader | undefined;
  private retryAt = 0;
  /** With the password that it accepted last. */
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

  /** Its connections; undefined while it is away. */
  get reader(): Reader | undefined {
    const mayConnect = this.primary.isReady && !this.signal.aborted && performance.now() >= this.retryAt;
    if (!this.current && mayConnect) {
      this.retryAt = Infinity;
      void this.outside(() => this.connect());
    }
    return this.current;
  }

  /** Reads from it; calls `otherwise` while it is away, or if it failed where the primary may not. */
  async read<T>(read: (reader: Reader) => Promise<T>, otherwise: () => Promise<T>): Promise<T> {
    const { reader } = this;
    if (!reader) {
      return otherwise();
    }
    try {
      return await read(reader);
    } catch (error) {
      // Class 42: it may lack a migration.
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
    // First, because reads that fail now would end it again.
    this.current = undefined;
    await current?.destroy();
  }

  private leave(reader: Reader, reason: unknown): void {
    if (this.current === reader) {
      this.current = undefined;
      this.retryAt = performance.now() + PAUSE;
      this.warn('replica away', reason);
      // So that nothing waits for a server that does not respond.
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
