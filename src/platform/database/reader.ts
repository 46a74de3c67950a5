import type { Pool, PoolClient, PoolConfig } from 'pg';
import type { DataSource } from 'typeorm';
import { streamOf } from './database-client.js';
import { DatabasePool } from './database-pool.js';
import { NO_CONNECTION } from './database-problem.js';
import { SharedConnections, SHARED_LIFETIME } from './shared-connections.js';

/** Milliseconds that a statement may take where others are pipelined behind it. */
export const QUICK = 50;

/** Milliseconds for which such a statement may wait for a lock. */
const QUICK_LOCK = 5;

/** Maximum pending filters on a connection, each of which may take {@link QUICK}; and pages, before another one is used. */
export const MOST_FILTERS = 8;
const MOST_PAGES = 16;

/** Milliseconds until the server notices that a client has closed its connection. */
const CHECK_INTERVAL = 100;

/** Maximum connections of each kind with pipelined statements: more are of no use. */
const MOST_PIPELINED = 4;

/** Milliseconds for which a statement may exceed its time limit before its server counts as gone. */
const GRACE = 500;

/** How the connections of a process are divided. */
type Shares = Readonly<Record<'pages' | 'quick' | 'slow' | 'others', number>>;

/** How lists are read from a server. */
export interface ReadOptions {
  /** Undefined behind a pooler, and for few connections: lists use the pool of TypeORM. */
  readonly shares: Shares | undefined;
  /** Time limit of slow statements, in milliseconds. */
  readonly timeout: number;
}

/** Divides connections: of 5 or more, at least two fifths are left to TypeORM, for writes and for what features do. */
export function sharesOf(poolSize: number): Shares {
  const slow = Math.max(1, Math.floor(poolSize / 5));
  const most = Math.min(slow, MOST_PIPELINED);
  return { pages: most, quick: most, slow, others: poolSize - slow - 2 * most };
}

/** Options of the pool beside those of `pg`. */
export interface PoolExtra {
  /** Undefined for the embedded database. */
  readonly reads?: ReadOptions;
}

export const readOptionsOf = ({ options }: DataSource) => (options.extra as PoolExtra | undefined)?.reads;

/**
 * Statements that set how a connection reads: no writes, no JIT, no parallel workers; filters are planned for their values.
 *
 * @param scope - whether the settings last for the session or for the transaction
 * @param lockTimeout - shorter than `timeout`, to tell a statement that waits for a lock from a slow one
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
      // Otherwise, an index on trigrams may return only some of the matches.
      gin_fuzzy_search_limit: 0,
      client_connection_check_interval: CHECK_INTERVAL,
    }),
  };
  const statements = Object.entries(settings).map(([name, value]) => `SET ${scope} ${name} = ${value}`);
  return statements.join('; ');
}

/** Counts open connections, idle ones, and requests that wait for a connection. */
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
  /** For pages of whole lists, token look-ups and pings. */
  readonly pages: SharedConnections;
  /** For pages with a filter, `where` or order. */
  readonly quick: SharedConnections;
  /** For slow statements, one at a time on each connection. */
  readonly slow: Pool;
  private readonly clients = new Set<PoolClient>();

  /**
   * @param options - of `pg`, as for TypeORM's pool
   * @param timeout - of slow statements, in milliseconds
   * @param replicaCheck - a statement that fails if the server must not be read as a replica; undefined for the primary
   */
  constructor(
    options: PoolConfig,
    timeout: number,
    shares: Shares,
    private readonly replicaCheck?: string,
  ) {
    const shared = (kind: 'pages' | 'filters', max: number, enough: number) =>
      new SharedConnections(this.open({ ...options, max }, settingsOf('SESSION', kind, QUICK, QUICK_LOCK)), enough);
    this.pages = shared('pages', shares.pages, MOST_PAGES);
    this.quick = shared('filters', shares.quick, MOST_FILTERS);
    // The `query_timeout` of a replica is that of its pipelined statements, too short for slow ones; the primary's suffices.
    const limits = replicaCheck === undefined ? {} : { query_timeout: timeout + GRACE };
    const slow = { ...options, ...limits, max: shares.slow, maxLifetimeSeconds: SHARED_LIFETIME / 1000 };
    this.slow = this.open(slow, settingsOf('SESSION', 'filters', timeout));
  }

  /** A connection for a slow statement. A replica must first respond to a short one, which shows early if it is gone. */
  async connect(): Promise<PoolClient> {
    if (this.replicaCheck !== undefined) {
      await this.pages.send({ text: 'SELECT 1', values: [] });
    }
    return this.slow.connect();
  }

  async end(): Promise<void> {
    await Promise.all([this.pages.end(), this.quick.end(), this.slow.end()]);
  }

  /** Closes all connections at once, without waiting for their statements. */
  async destroy(): Promise<void> {
    this.clients.forEach((client) => streamOf(client).destroy());
    await this.end();
  }

  private open(options: PoolConfig, settings: string): Pool {
    const pool = new DatabasePool({
      ...options,
      verify: (client, done) => {
        const report = (cause: Error | null) => done(cause ? new Error(NO_CONNECTION, { cause }) : undefined);
        // First: the settings limit a statement to less than the check may take.
        client.query(`${this.replicaCheck ?? ''}; ${settings}`, report);
      },
    });
    pool.on('connect', (client) => this.clients.add(client)).on('remove', (client) => this.clients.delete(client));
    // An error of an idle connection needs no handling, but a listener: the pool removes the connection itself.
    return pool.on('error', () => undefined);
  }
}
