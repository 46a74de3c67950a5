import { AsyncLocalStorage } from 'node:async_hooks';
import type { EntityManager } from 'typeorm';

/** A transaction, and what waits for its success. */
interface Scope {
  readonly manager: EntityManager;
  readonly onCommit: (() => void)[];
}

/** Knows which transaction the running code is part of. */
export class TransactionScope {
  private readonly storage = new AsyncLocalStorage<Scope>();

  /** The manager of that transaction; undefined outside of any. */
  get manager(): EntityManager | undefined {
    return this.storage.getStore()?.manager;
  }

  /**
   * Makes some work part of a transaction.
   *
   * @param onCommit - filled with what is to be called once it is committed
   */
  run<T>(manager: EntityManager, onCommit: (() => void)[], work: () => Promise<T>): Promise<T> {
    return this.storage.run({ manager, onCommit }, work);
  }

  /** Calls back once the transaction is committed, and never if it is not; outside of any, at once. */
  afterCommit(callback: () => void): void {
    const scope = this.storage.getStore();
    if (scope) {
      scope.onCommit.push(callback);
    } else {
      callback();
    }
  }
}
