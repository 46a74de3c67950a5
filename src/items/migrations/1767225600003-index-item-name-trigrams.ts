import { IndexMigration } from '../../platform/index.js';

/** Index for filters with `.contains`, `.icontains` and `.endsWith` on `name`. */
export class IndexItemNameTrigrams1767225600003 extends IndexMigration {
  readonly index = 'items_name_trigrams_idx';
  // With `fastupdate`, every search also scans a list of pending entries, which grows until the next vacuum.
  readonly definition = 'ON items USING gin (name gin_trgm_ops) WITH (fastupdate = off)';
  override readonly extension = 'pg_trgm';
}
