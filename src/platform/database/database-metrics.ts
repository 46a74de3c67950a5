import { Injectable } from '@nestjs/common';
import { QueryFailedError } from 'typeorm';
import { Configuration } from '../config/configuration.js';
import { Metrics } from '../observability/metrics.js';
import { type AppDataSource, poolOf } from './app-data-source.js';
import { type Meaning, meaningOf } from './database-problem.js';

const OPERATIONS = ['select', 'insert', 'update', 'delete', 'begin', 'commit', 'rollback', 'explain', 'other'] as const;
const CAUSES = ['constraint', 'conflict', 'timeout', 'connection', 'other'] as const;
type Cause = (typeof CAUSES)[number];

const CAUSE_OF: Readonly<Partial<Record<Meaning, Cause>>> = {
  away: 'connection',
  timeout: 'timeout',
  concurrency: 'conflict',
  contradiction: 'constraint',
  refusal: 'constraint',
};

/** Upper bounds in seconds. Most statements take less than a millisecond. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Metrics of statements, by first word only because texts contain client input, and of the connection pools. */
@Injectable()
export class DatabaseMetrics {
  private readonly durations;
  private readonly errors;

  constructor(
    private readonly metrics: Metrics,
    private readonly configuration: Configuration,
  ) {
    const duration = 'Duration of SQL statements, by their first word';
    this.durations = metrics.histogram(
      { name: 'items_database_statement_duration_seconds', help: duration, labels: { operation: OPERATIONS } },
      BOUNDS,
    );
    this.errors = metrics.counter({
      name: 'items_database_statement_errors_total',
      help: 'SQL statements that failed, by first word and cause',
      labels: { operation: OPERATIONS, cause: CAUSES },
    });
  }

  /** @returns called when the statement ends, with its error if any */
  observe(text: string): (error?: unknown) => void {
    const [word = ''] = /[a-z]+/i.exec(text) ?? [];
    const name = word.toLowerCase().replace('start', 'begin');
    const operation = OPERATIONS.find((each) => each === name) ?? 'other';
    const start = performance.now();
    return (error) => {
      this.durations.observe({ operation }, (performance.now() - start) / 1000);
      if (error !== undefined) {
        this.errors.inc({ operation, cause: causeOf(error) });
      }
    };
  }

  /** @param dataSources - of the primary, followed by those of `DATABASE_REPLICA_URLS` */
  watch(dataSources: () => readonly AppDataSource[]): void {
    const { DATABASE_URL, DATABASE_POOL_SIZE, DATABASE_REPLICA_URLS } = this.configuration;
    const replicas = DATABASE_REPLICA_URLS.map((_, index) => `replica-${index + 1}`);
    const names = ['primary', ...replicas];
    const poolNamed = (name: string) => {
      const dataSource = dataSources()[names.indexOf(name)];
      return dataSource?.isReady ? poolOf(dataSource) : undefined;
    };
    const help = 'Open connections of this process, by state';
    this.metrics.gauge(
      { name: 'items_database_pool_connections', help, labels: { pool: names, state: ['used', 'idle'] } },
      ({ pool, state }) => {
        const { totalCount = 0, idleCount = 0 } = poolNamed(pool) ?? {};
        return state === 'idle' ? idleCount : totalCount - idleCount;
      },
    );
    this.metrics.gauge(
      { name: 'items_database_pool_limit', help: 'Maximum connections: DATABASE_POOL_SIZE', labels: { pool: names } },
      () => (DATABASE_URL === undefined ? 1 : DATABASE_POOL_SIZE),
    );
    this.metrics.gauge(
      { name: 'items_database_pool_waiting', help: 'Requests that wait for a connection', labels: { pool: names } },
      ({ pool }) => poolNamed(pool)?.waitingCount ?? 0,
    );
    const ready = 'Whether lists are read from the replica (1), or it is unavailable or lacks migrations (0)';
    this.metrics.gauge({ name: 'items_database_replica_ready', help: ready, labels: { pool: replicas } }, ({ pool }) =>
      Number(poolNamed(pool) !== undefined),
    );
  }
}

function causeOf(error: unknown): Cause {
  const meaning = meaningOf(new QueryFailedError('', [], Error.isError(error) ? error : new Error(String(error))));
  return (meaning && CAUSE_OF[meaning]) ?? 'other';
}
