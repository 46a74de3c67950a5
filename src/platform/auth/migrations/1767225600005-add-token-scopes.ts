import { SqlMigration } from '../../database/sql-migration.js';

/** Tokens without scopes may do everything, as all could before. */
export class AddTokenScopes1767225600005 extends SqlMigration {
  readonly statements = ['ALTER TABLE access_tokens ADD COLUMN scopes text[]'];
}
