import { hash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { PoolClient, QueryResult } from 'pg';
import { Configuration } from '../config/configuration.js';
import { SERVICE_NAME } from '../service/service.js';
import { Metrics } from '../observability/metrics.js';
import { withSpan } from '../tracing/tracing.js';
import { AppDataSource, poolOf } from './app-data-source.js';
import { streamOf } from './database-client.js';
import { DatabasePool } from './database-pool.js';
import { NO_CONNECTION } from './database-problem.js';
import { transactionOf } from './transactions.js';

/** Milliseconds between two statements that show both sides of a lock's connection that it works, and for each response. */
const BEAT = 10_000;
const BEAT_TIMEOUT = 5000;

/** Milliseconds without a statement until the server frees the lock. A process that is cut off has noticed that by then. */
const SILENCE = 30_000;

/** Milliseconds for work to end when the service stops. */
const END_TIMEOUT = 2000;

const OUTCOMES = ['ran', 'skipped', 'failed', 'lost'] as const;

/** Whether the work ran, and what it returned. */
export type ExclusiveResult<T> = { readonly ran: true; readonly result: T } | { readonly ran: false };

/** The lock of work was lost while the work ran: another instance may have begun the same work. */
class LockLostError extends Error {
  constructor(name: string, cause: unknown) {
    super(`${NO_CONNECTION} The lock of "${name}" was lost while the work ran: another instance may run it as well.`, {
      cause,
    });
  }
}

/** Two 32-bit keys, which PostgreSQL keeps apart from 64-bit keys, such as those of migrations and of features. */
function keysOf(name: string): string {
  const digest = hash('sha256', `${SERVICE_NAME} database.exclusively ${name}`, 'buffer');
  return `${digest.readInt32BE(0)}, ${digest.readInt32BE(4)}`;
}

/** Tries to get the lock, in a transaction without a snapshot, which would delay VACUUM. The time limits end with it. */
const lockStatement = (name: string) => `START TRANSACTION ISOLATION LEVEL READ COMMITTED READ WRITE;
  SELECT set_config(name, CASE name WHEN 'transaction_timeout' THEN '0' ELSE '${SILENCE}' END, true)
    FROM pg_settings WHERE name IN ('transaction_timeout', 'idle_in_transaction_session_timeout');
  SELECT pg_try_advisory_xact_lock(${keysOf(name)}) AS locked`;

/**
 * Runs work in one instance at a time: see `Database.exclusively`. The lock belongs to a transaction: behind a pooler, one
 * of a session would outlive its owner. The transaction has no snapshot and no rows, so it may last. Its connection is
 * checked every 10 s, and the server frees the lock 30 s after the process is frozen or cut off.
 */
@Injectable()
export class ExclusiveWork implements OnModuleDestroy {
  private readonly stopping = new AbortController();
  private readonly running = new Map<string, Promise<unknown>>();
  private readonly outcomes;

  constructor(
    @InjectDataSource() private readonly dataSource: AppDataSource,
    private readonly configuration: Configuration,
    metrics: Metrics,
  ) {
    const help = 'Calls of database.exclusively, by what became of the work';
    this.outcomes = metrics.counter({ name: 'exclusive_work_total', help, labels: { outcome: OUTCOMES } });
  }

  async run<T>(name: string, work: (signal: AbortSignal) => Promise<T>): Promise<ExclusiveResult<T>> {
    if (transactionOf(this.dataSource)) {
      const reason = 'which would commit after the lock is free: call database.transaction() in the work instead.';
      throw new Error(`database.exclusively() is called in a transaction, ${reason}`);
    }
    return withSpan(`exclusively ${name}`, async (span) => {
      let outcome: (typeof OUTCOMES)[number] = 'failed';
      try {
        const result = await this.runAlone(name, work);
        outcome = result.ran ? 'ran' : 'skipped';
        return result;
      } catch (error) {
        outcome = error instanceof LockLostError ? 'lost' : outcome;
        throw error;
      } finally {
        this.outcomes.inc({ outcome });
        span.setAttribute(`${SERVICE_NAME}.exclusive_work.outcome`, outcome);
      }
    });
  }

  /** Gives running work time to end before the database is closed. */
  async onModuleDestroy(): Promise<void> {
    this.stopping.abort(new Error('The service stops.'));
    await Promise.race([Promise.allSettled(this.running.values()), delay(END_TIMEOUT, undefined, { ref: false })]);
  }

  private async runAlone<T>(name: string, work: (signal: AbortSignal) => Promise<T>): Promise<ExclusiveResult<T>> {
    // The only check for the embedded database, which has no lock. With a server, it saves a connection.
    if (this.running.has(name) || this.stopping.signal.aborted) {
      return { ran: false };
    }
    const running = this.runLocked(name, work).finally(() => this.running.delete(name));
    this.running.set(name, running);
    return running;
  }

  private async runLocked<T>(name: string, work: (signal: AbortSignal) => Promise<T>): Promise<ExclusiveResult<T>> {
    const { options } = poolOf(this.dataSource);
    if (this.configuration.DATABASE_URL === undefined) {
      // Only one process uses the embedded database, and the work needs its only connection.
      return { ran: true, result: await work(this.stopping.signal) };
    }
    // A connection beside the pool, in which locks could hold all the connections that their work waits for.
    const own = { max: 1, query_timeout: BEAT_TIMEOUT, application_name: `${SERVICE_NAME} ${name}` };
    const client = await new DatabasePool({ ...options, ...own }).on('error', () => undefined).connect();
    const losing = new AbortController();
    const lose = (cause: unknown) => losing.abort(new LockLostError(name, cause));
    let stopWatching: (() => void) | undefined;
    let outcome: ExclusiveResult<T> = { ran: false };
    try {
      const results = (await client.query(lockStatement(name))) as unknown as QueryResult<{ locked: boolean }>[];
      if (results.at(-1)?.rows[0]?.locked === true) {
        stopWatching = watch(client, lose);
        outcome = { ran: true, result: await work(AbortSignal.any([losing.signal, this.stopping.signal])) };
      }
    } catch (error) {
      // The error that the work throws after the abort says less than the lost lock.
      losing.signal.throwIfAborted();
      throw error;
    } finally {
      stopWatching?.();
      // Awaited, so that the lock is free for the next call. If it fails, the lock may have been lost before, unnoticed.
      await client.query('ROLLBACK').catch((cause: unknown) => {
        lose(cause);
        streamOf(client).destroy();
      });
      client.release(true);
    }
    if (outcome.ran) losing.signal.throwIfAborted();
    return outcome;
  }
}

/** Watches a connection until the returned function is called. */
function watch(client: PoolClient, onLoss: (cause: unknown) => void): () => void {
  const onEnd = () => onLoss(new Error('The connection ended.'));
  // A statement with a callback is neither measured nor traced.
  const beat = () => {
    client.query('SELECT 1', (error: Error | null) => {
      if (error) onLoss(error);
    });
  };
  const timer = setInterval(beat, BEAT).unref();
  client.once('error', onLoss).once('end', onEnd);
  return () => {
    clearInterval(timer);
    client.off('error', onLoss).off('end', onEnd);
  };
}
