import { SqlMigration } from '../migrations.js';

export class AddMigrationDigests1767225600010 extends SqlMigration {
  readonly statements = ['ALTER TABLE migrations ADD COLUMN digest text'];
}
