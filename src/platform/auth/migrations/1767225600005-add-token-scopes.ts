import { SqlMigration } from '../../database/migrations.js';

/** Existing tokens keep access to everything: null means all scopes. */
export class AddTokenScopes1767225600005 extends SqlMigration {
  readonly statements = ['ALTER TABLE access_tokens ADD COLUMN scopes text[]'];
}
