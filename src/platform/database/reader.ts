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

export const NO_CONNECTIONS = { total: 0, idle: 0, waiting: 0 };

type Settings = Readonly<Record<string, string | number>>;

/**
 * Of statements without a filter: no writes, no compilation, one processor.
 *
 * @param lockTimeout - earlier, because waiting for a lock is no fault of a statement
 */
function settingsFor(timeout: number, lockTimeout = timeout / 2): Settings {
  return {
    default_transaction_read_only: 'on',
    jit: 'off',
    max_parallel_workers_per_gather: 0,
    statement_timeout: Math.ceil(timeout),
    lock_timeout: Math.ceil(lockTimeout),
  };
}

/** Of statements with a filter, which are planned for their values. */
export function settingsForFilters(timeout: number, lockTimeout?: number): Settings {
  return {
    ...settingsFor(timeout, lockTimeout),
    plan_cache_mode: 'force_custom_plan',
    client_connection_check_interval: CHECK_INTERVAL,
  };
}

/** @param scope - until the end of the session, or of the transaction */
export function assignmentsOf(settings: Settings, scope: 'SESSION' | 'LOCAL'): string {
  const statements = Object.entries(settings).map(([name, value]) => `SET ${scope} ${name} = ${value}`);
  return statements.join('; ');
}

/** Connections for lists, beside TypeORM's pool. Each keeps its settings: nothing is set and reset for a statement. */
export class Reader {
  /** For pages without a filter. */
  readonly pages: SharedConnections;
  /** For filters. */
  readonly quick: SharedConnections;
  /** For what is slow, each on a connection of its own. */
  private readonly slow: Pool;
  private readonly pools: readonly Pool[];
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
    this.pages = new SharedConnections(
      this.open({ ...options, max: shares.pages }, settingsFor(QUICK, QUICK_LOCK)),
      MOST_PAGES,
    );
    this.quick = new SharedConnections(
      this.open({ ...options, max: shares.quick }, settingsForFilters(QUICK, QUICK_LOCK)),
      MOST_FILTERS,
    );
    // The primary's has time for an error of the server to arrive; of a replica, it is known earlier that it is gone.
    const limits = check === '' ? {} : { query_timeout: timeout + GRACE };
    const slow = { ...options, ...limits, max: shares.slow, maxLifetimeSeconds: SHARED_LIFETIME / 1000 };
    this.slow = this.open(slow, settingsForFilters(timeout));
    this.pools = [this.pages.pool, this.quick.pool, this.slow];
  }

  /** A connection for what is slow. A replica must respond first: later, a long wait would not show that it is gone. */
  async connect(): Promise<PoolClient> {
    if (this.check !== '') {
      await this.pages.send({ text: 'SELECT 1', values: [] });
    }
    return this.slow.connect();
  }

  /** Numbers of open connections, of those without a statement, and of requests that wait for one. */
  connections() {
    const sum = (countOf: (pool: Pool) => number) => this.pools.reduce((total, pool) => total + countOf(pool), 0);
    return {
      total: sum(({ totalCount }) => totalCount),
      idle: this.pages.idleCount + this.quick.idleCount + this.slow.idleCount,
      waiting: sum(({ waitingCount }) => waitingCount),
    };
  }

  async end(): Promise<void> {
    await Promise.all([this.pages.end(), this.quick.end(), this.slow.end()]);
  }

  /** Closes the connections at once, also those on which statements wait. */
  async destroy(): Promise<void> {
    this.clients.forEach((client) => streamOf(client).destroy());
    await this.end();
  }

  private open(options: PoolConfig, settings: Settings): Pool {
    const text = `${assignmentsOf(settings, 'SESSION')}; ${this.check}`;
    const pool = new DatabasePool({
      ...options,
      verify: (client, done) => {
        client.query(text, (cause: Error | null) => {
          done(cause ? new Error(NO_CONNECTION, { cause }) : undefined);
        });
      },
    });
    pool.on('connect', (client) => this.clients.add(client)).on('remove', (client) => this.clients.delete(client));
    // Its client has an own listener; a statement that needs the connection fails.
    return pool.on('error', () => undefined);
  }
}
