import { EntityManager } from 'typeorm';
import { type IsolationLevel, rejectLevel } from './late-runner.js';
import { runSavepoint, transactionOf } from './transactions.js';

type Work<T> = (manager: EntityManager) => Promise<T>;

/** Runs transactions within the current one as savepoints, in turn: TypeORM would mix up concurrent savepoints. */
export class AppEntityManager extends EntityManager {
  override transaction<T>(work: Work<T>): Promise<T>;
  override transaction<T>(level: IsolationLevel, work: Work<T>): Promise<T>;
  override async transaction<T>(...given: [IsolationLevel | Work<T> | undefined, Work<T>?]): Promise<T> {
    // A manager with a query runner, such as that of a savepoint, nests transactions itself, on its own connection.
    const outer = this.queryRunner ? undefined : transactionOf(this.dataSource);
    if (!outer) {
      return super.transaction(...(given as [IsolationLevel, Work<T>]));
    }
    const [first, second] = given;
    if (typeof first === 'string') {
      return rejectLevel(first);
    }
    const work = (first ?? second) as Work<T>;
    return runSavepoint(outer, () => work(outer.runner.manager));
  }
}
