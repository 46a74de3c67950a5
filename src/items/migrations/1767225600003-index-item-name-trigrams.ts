import { IndexMigration } from '../../platform/index.js';

/** For `.contains`, `.icontains` and `.endsWith` on the name. */
export class IndexItemNameTrigrams1767225600003 extends IndexMigration {
  readonly index = 'items_name_trigrams_idx';
  // With fast update, searches would read a list of pending entries that grows until the next vacuum.
  readonly definition = 'ON items USING gin (name gin_trgm_ops) WITH (fastupdate = off)';
  protected override readonly extension = 'pg_trgm';
}
