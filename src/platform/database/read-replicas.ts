import type { DataSource, EntityManager } from 'typeorm';
import type { PostgresDataSourceOptions } from './data-source-options.js';
import { isAway } from './database-problem.js';
import { ReadReplica } from './read-replica.js';
import { CONFLICT, sqlState } from './sql-state.js';

/** The streaming replicas of the database, in turn. */
export class ReadReplicas {
  private readonly replicas: readonly ReadReplica[];
  private reads = 0;

  /** @param options - of a data source for each */
  constructor(options: readonly PostgresDataSourceOptions[]) {
    this.replicas = options.map((each) => new ReadReplica(each));
  }

  /** Of each; undefined for one that cannot be used now. */
  get dataSources(): readonly (DataSource | undefined)[] {
    return this.replicas.map(({ dataSource }) => dataSource);
  }

  /** Connects to all, in the background, as often as it takes. */
  connect(): void {
    this.replicas.forEach((replica) => {
      replica.connect();
    });
  }

  /**
   * Reads from the next one that can be used.
   *
   * @param otherwise - reads elsewhere, if there is none, or that one failed for reasons of its own
   */
  async read<T>(read: (manager: EntityManager) => Promise<T>, otherwise: () => Promise<T>): Promise<T> {
    const ready = this.replicas.flatMap((replica) => (replica.dataSource ? [{ replica, source: replica.dataSource }] : []));
    const next = ready[this.reads % ready.length];
    this.reads += 1;
    if (!next) {
      return otherwise();
    }
    try {
      return await read(next.source.manager);
    } catch (error) {
      if (isAway(error)) {
        next.replica.leave(next.source, error);
        return otherwise();
      }
      // What the replica has just received came in the way; it is as well as before.
      if (sqlState(error) === CONFLICT) {
        return otherwise();
      }
      // It would fail elsewhere, too.
      throw error;
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.replicas.map((replica) => replica.stop()));
  }
}
