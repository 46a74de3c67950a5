import { SqlMigration } from '../../database/migrations.js';

/**
 * Existing tokens, and those that older versions issue during an update, have no limit of their own: null means
 * `RATE_LIMIT`.
 */
export class AddTokenLimit1767225600007 extends SqlMigration {
  readonly statements = ['ALTER TABLE access_tokens ADD COLUMN rate_limit integer'];
}
