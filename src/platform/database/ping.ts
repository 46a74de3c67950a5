import { withTimeout } from '../time/duration.js';
import { type AppDataSource, readerOf } from './app-data-source.js';

/** Milliseconds to wait for a connection of pages alone. */
const PATIENCE = 250;

/**
 * Whether the primary responds, for `/readyz`: on a connection of pages, because all others may wait for a lock of one
 * table, and after a while also on the pool, because large pages may be ahead.
 *
 * @throws the error of the pool if neither responds
 */
export async function ping(dataSource: AppDataSource): Promise<void> {
  const text = 'SELECT 1';
  const onPool = () => dataSource.query(text);
  const onPages = readerOf(dataSource)?.pages.send({ text, values: [] });
  if (!onPages) {
    await onPool();
    return;
  }
  const later = withTimeout(PATIENCE, onPages).catch(onPool);
  await Promise.any([onPages, later]).catch(() => later);
}
