import { Injectable } from '@nestjs/common';
import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';
import { Configuration } from '../config/configuration.js';
import { Metrics } from '../observability/metrics.js';
import type { AppDataSource } from './app-data-source.js';
import { FULL, isPasswordRefused, meaningOf } from './database-problem.js';
import { countConnections, type Reader, sharesOf } from './reader.js';

const OPERATIONS = ['select', 'insert', 'update', 'delete', 'begin', 'commit', 'rollback', 'explain', 'other'] as const;
const CAUSES = ['constraint', 'conflict', 'timeout', 'connection', 'other'] as const;
/** Why there is no connection: the server has no free one, rejects the login or anything else, or does not respond. */
const CONNECTION_CAUSES = ['full', 'login', 'server', 'network'] as const;

/** Upper bounds in seconds. Most statements take less than a millisecond. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Metrics of the connection pools and of statements, by first word only, because texts can contain client input. */
@Injectable()
export class DatabaseMetrics {
  private readonly durations;
  private readonly errors;
  private readonly connectionErrors;

  constructor(
    private readonly metrics: Metrics,
    private readonly configuration: Configuration,
  ) {
    const duration = 'Duration of SQL statements, by their first word';
    this.durations = metrics.histogram(
      { name: 'database_statement_duration_seconds', help: duration, labels: { operation: OPERATIONS } },
      BOUNDS,
    );
    this.errors = metrics.counter({
      name: 'database_statement_errors_total',
      help: 'SQL statements that failed, by first word and cause',
      labels: { operation: OPERATIONS, cause: CAUSES },
    });
    this.connectionErrors = metrics.counter({
      name: 'database_connection_errors_total',
      help: 'Attempts to connect that failed, by cause',
      labels: { cause: CONNECTION_CAUSES },
    });
  }

  /** Counts an attempt to connect that failed. */
  countFailedConnection(error: Error): void {
    const { code = '' } = error as Partial<DatabaseError>;
    const isLogin = code.startsWith('28') || isPasswordRefused(error);
    const other = error instanceof DatabaseError ? 'server' : 'network';
    this.connectionErrors.inc({ cause: code === FULL ? 'full' : isLogin ? 'login' : other });
  }

  /** @returns a function to call when the statement ends, with its error if any */
  observe(text: string): (error: Error | undefined) => void {
    const [word = ''] = /[a-z]+/i.exec(text) ?? [];
    const name = word.toLowerCase().replace('start', 'begin');
    const operation = OPERATIONS.find((each) => each === name) ?? 'other';
    const start = performance.now();
    return (error) => {
      this.durations.observe({ operation }, (performance.now() - start) / 1000);
      if (error) {
        this.errors.inc({ operation, cause: causeOf(error) });
      }
    };
  }

  /** Measures the pools of the primary and of `DATABASE_READ_URL`. */
  watch(primary: AppDataSource, replica: { readonly reader: Reader | undefined } | undefined): void {
    const { DATABASE_URL, DATABASE_POOL_SIZE } = this.configuration;
    const { others } = sharesOf(DATABASE_POOL_SIZE);
    const names = replica ? ['primary', 'replica'] : ['primary'];
    const connectionsOf = (name: string) => {
      if (name === 'replica') return countConnections(undefined, replica?.reader);
      return primary.isReady ? countConnections(primary.driver.master, primary.reader) : countConnections();
    };
    const help = 'Open connections of this process, by state';
    this.metrics.gauge(
      { name: 'database_pool_connections', help, labels: { pool: names, state: ['used', 'idle'] } },
      ({ pool, state }) => {
        const { total, idle } = connectionsOf(pool);
        return state === 'idle' ? idle : total - idle;
      },
    );
    this.metrics.gauge({ name: 'database_pool_limit', help: 'Maximum connections', labels: { pool: names } }, ({ pool }) =>
      DATABASE_URL === undefined ? 1 : DATABASE_POOL_SIZE - (pool === 'replica' ? others : 0),
    );
    this.metrics.gauge(
      { name: 'database_pool_waiting', help: 'Requests that wait for a connection', labels: { pool: names } },
      ({ pool }) => connectionsOf(pool).waiting,
    );
    const ready = 'Whether lists are read from the replica (1), or it is unavailable (0)';
    this.metrics.gauge({ name: 'database_replica_ready', help: ready, labels: { pool: names.slice(1) } }, () =>
      Number(replica?.reader !== undefined),
    );
  }
}

function causeOf(error: Error): (typeof CAUSES)[number] {
  const meaning = meaningOf(new QueryFailedError('', [], error));
  return meaning === 'value' ? 'constraint' : (CAUSES.find((cause) => cause === meaning) ?? 'other');
}
