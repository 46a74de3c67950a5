import { Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { Configuration } from '../config/configuration.js';
import { Metrics } from '../observability/metrics.js';
import { poolOf } from './lane.js';
import { StatementMetrics } from './statement-metrics.js';
import { StatementObservers } from './statement-observers.js';

/** Statements, and the connections to the database and its replicas. */
@Injectable()
export class DatabaseMetrics {
  constructor(
    private readonly metrics: Metrics,
    statements: StatementObservers,
    private readonly configuration: Configuration,
  ) {
    statements.add(new StatementMetrics(metrics).observe);
  }

  /** @param dataSources - of the database, then of each of `DATABASE_REPLICA_URLS`; undefined while it is not used */
  watch(dataSources: () => readonly (DataSource | undefined)[]): void {
    const { DATABASE_URL, DATABASE_POOL_SIZE, DATABASE_REPLICA_URLS } = this.configuration;
    const replicas = DATABASE_REPLICA_URLS.map((_, index) => `replica-${index + 1}`);
    const names = ['primary', ...replicas];
    const poolNamed = (name: string) => {
      const dataSource = dataSources()[names.indexOf(name)];
      return dataSource && poolOf(dataSource);
    };
    this.metrics.gauge(
      {
        name: 'items_database_pool_connections',
        help: 'Connections that the process holds, by what they do',
        labels: { pool: names, state: ['used', 'idle'] },
      },
      ({ pool, state }) => {
        const { totalCount = 0, idleCount = 0 } = poolNamed(pool) ?? {};
        return state === 'idle' ? idleCount : totalCount - idleCount;
      },
    );
    this.metrics.gauge(
      {
        name: 'items_database_pool_limit',
        help: 'Connections that it may hold: DATABASE_POOL_SIZE',
        labels: { pool: names },
      },
      () => (DATABASE_URL === undefined ? 1 : DATABASE_POOL_SIZE),
    );
    this.metrics.gauge(
      {
        name: 'items_database_pool_waiting',
        help: 'Requests that wait for a connection to come free',
        labels: { pool: names },
      },
      ({ pool }) => poolNamed(pool)?.waitingCount ?? 0,
    );
    this.metrics.gauge(
      {
        name: 'items_database_replica_ready',
        help: 'Whether lists are read from that replica (1), or it is away or lacks migrations (0)',
        labels: { pool: replicas },
      },
      ({ pool }) => Number(poolNamed(pool) !== undefined),
    );
  }
}
