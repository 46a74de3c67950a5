import { IndexMigration } from '../../platform/index.js';

/** Index for filters with `==`, `in`, `<` and `.startsWith` on `name`. */
export class IndexItemNames1767225600002 extends IndexMigration {
  readonly index = 'items_name_id_idx';
  readonly definition = 'ON items (name COLLATE "C", id)';
}
