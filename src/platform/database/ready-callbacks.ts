import type { DataSource } from 'typeorm';
import { isUnavailable } from './database-problem.js';
import { runTransaction } from './transactions.js';

/** Key of the advisory lock of an instance that runs callbacks before it is ready. */
const READY_LOCK = 7_235_915_402_218;

/** Runs the callbacks of `onReady()` in one transaction, one instance at a time. @throws Error that says where it failed */
export async function runReadyCallbacks(dataSource: DataSource, callbacks: readonly (() => Promise<void>)[]): Promise<void> {
  const run = async () => {
    for (const callback of callbacks) await callback();
  };
  try {
    const text = 'SELECT pg_advisory_xact_lock($1)';
    await runTransaction(dataSource, run, { begin: (send) => send({ text, values: [READY_LOCK] }) });
  } catch (error) {
    throw isUnavailable(error) ? error : new Error('A callback of database.onReady() failed.', { cause: error });
  }
}
