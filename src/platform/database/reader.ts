import type { Pool, PoolClient, PoolConfig } from 'pg';
import type { DataSource } from 'typeorm';
import { streamOf } from './database-client.js';
import { DatabasePool } from './database-pool.js';
import { NO_CONNECTION } from './database-problem.js';
import { SharedConnections, SHARED_LIFETIME } from './shared-connections.js';

/** Milliseconds that a statement may take where others are pipelined behind it. */
export const QUICK = 50;

/** Milliseconds for which it may wait for a lock there. */
const QUICK_LOCK = 5;

/** Maximum filters, each of which may take that long, on a connection; and pages, before another connection is used. */
export const MOST_FILTERS = 8;
const MOST_PAGES = 16;

/** Milliseconds until the server notices that a client has closed its connection. */
const CHECK_INTERVAL = 100;

/** Connections with pipelined statements beyond which more are of no use. */
const MOST_PIPELINED = 4;

/** Milliseconds for which a statement may exceed its time limit before its server counts as gone. */
const GRACE = 500;

/** How the connections of a process are divided. */
type Shares = Readonly<Record<'pages' | 'quick' | 'slow' | 'others', number>>;

/** How lists are read from a server. */
export interface ReadOptions {
  /** Undefined behind a pooler, and for few connections: lists use the pool of TypeORM. */
  readonly shares: Shares | undefined;
  /** Of slow statements, in milliseconds. */
  readonly timeout: number;
}

/** Divides connections: of 5 or more, at least two fifths are left to TypeORM, for writes and for what features do. */
export function sharesOf(poolSize: number): Shares {
  const slow = Math.max(1, Math.floor(poolSize / 5));
  const most = Math.min(slow, MOST_PIPELINED);
  return { pages: most, quick: most, slow, others: poolSize - slow - 2 * most };
}

/** What the options of the pool have beside those of `pg`. */
export interface PoolExtra {
  /** Undefined for the embedded database. */
  readonly reads?: ReadOptions;
}

export const readOptionsOf = ({ options }: DataSource) => (options.extra as PoolExtra | undefined)?.reads;

/**
 * Statements that set how a connection reads: no writes, no compilation, one processor; filters planned for their values.
 *
 * @param scope - until the end of the session, or of the transaction
 * @param lockTimeout - earlier, because waiting for a lock is no fault of a statement
 */
export function settingsOf(
  scope: 'SESSION' | 'LOCAL',
  kind: 'pages' | 'filters',
  timeout: number,
  lockTimeout = timeout / 2,
): string {
  const settings = {
    default_transaction_read_only: 'on',
    jit: 'off',
    max_parallel_workers_per_gather: 0,
    statement_timeout: Math.ceil(timeout),
    lock_timeout: Math.ceil(lockTimeout),
    ...(kind === 'filters' && {
      plan_cache_mode: 'force_custom_plan',
      client_connection_check_interval: CHECK_INTERVAL,
    }),
  };
  const statements = Object.entries(settings).map(([name, value]) => `SET ${scope} ${name} = ${value}`);
  return statements.join('; ');
}

/** Numbers of open connections, of those without a statement, and of requests that wait for one. */
export function countConnections(pool?: Pool, reader?: Reader) {
  const pools = [pool, reader?.pages.pool, reader?.quick.pool, reader?.slow].filter((each) => each !== undefined);
  const sum = (countOf: (pool: Pool) => number) => pools.reduce((total, each) => total + countOf(each), 0);
  return {
    total: sum(({ totalCount }) => totalCount),
    idle: sum(({ idleCount }) => idleCount) + (reader ? reader.pages.idleCount + reader.quick.idleCount : 0),
    waiting: sum(({ waitingCount }) => waitingCount),
  };
}

/** Connections for lists, beside TypeORM's pool. Each keeps its settings: nothing is set and reset for a statement. */
export class Reader {
  /** For pages without a filter. */
  readonly pages: SharedConnections;
  /** For filters. */
  readonly quick: SharedConnections;
  /** For what is slow, each on a connection of its own. */
  readonly slow: Pool;
  private readonly clients = new Set<PoolClient>();

  /**
   * @param options - as of TypeORM's pool
   * @param timeout - of slow statements, in milliseconds
   * @param check - of a replica: a statement that fails on a server that must not be used
   */
  constructor(
    options: PoolConfig,
    timeout: number,
    shares: Shares,
    private readonly check = '',
  ) {
    const shared = (kind: 'pages' | 'filters', max: number, enough: number) =>
      new SharedConnections(this.open({ ...options, max }, settingsOf('SESSION', kind, QUICK, QUICK_LOCK)), enough);
    this.pages = shared('pages', shares.pages, MOST_PAGES);
    this.quick = shared('filters', shares.quick, MOST_FILTERS);
    // The primary's has time for an error of the server to arrive; of a replica, it is known earlier that it is gone.
    const limits = check === '' ? {} : { query_timeout: timeout + GRACE };
    const slow = { ...options, ...limits, max: shares.slow, maxLifetimeSeconds: SHARED_LIFETIME / 1000 };
    this.slow = this.open(slow, settingsOf('SESSION', 'filters', timeout));
  }

  /** A connection for what is slow. A replica must respond first: later, a long wait would not show that it is gone. */
  async connect(): Promise<PoolClient> {
    if (this.check !== '') {
      await this.pages.send({ text: 'SELECT 1', values: [] });
    }
    return this.slow.connect();
  }

  async end(): Promise<void> {
    await Promise.all([this.pages.end(), this.quick.end(), this.slow.end()]);
  }

  /** Closes the connections at once, also those on which statements wait. */
  async destroy(): Promise<void> {
    this.clients.forEach((client) => streamOf(client).destroy());
    await this.end();
  }

  private open(options: PoolConfig, settings: string): Pool {
    const pool = new DatabasePool({
      ...options,
      verify: (client, done) => {
        const report = (cause: Error | null) => done(cause ? new Error(NO_CONNECTION, { cause }) : undefined);
        client.query(`${settings}; ${this.check}`, report);
      },
    });
    pool.on('connect', (client) => this.clients.add(client)).on('remove', (client) => this.clients.delete(client));
    // Its client has an own listener; a statement that needs the connection fails.
    return pool.on('error', () => undefined);
  }
}
