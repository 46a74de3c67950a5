import { withTimeout } from '../time/duration.js';
import { type AppDataSource, readerOf } from './app-data-source.js';

/** Milliseconds without a response after which the pool is tried as well. */
const PATIENCE = 250;

/**
 * Checks for `/readyz` that the primary responds: on a connection of pages, because all others may wait for a lock of one
 * table; after {@link PATIENCE} also on the pool, because large pages may be ahead on that connection.
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
