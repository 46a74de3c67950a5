import { SqlMigration } from '../../database/migrations.js';

/** Existing tokens have no family, and their last four characters were never stored. */
export class AddTokenRotation1767225600006 extends SqlMigration {
  readonly statements = [
    `ALTER TABLE access_tokens
      ADD COLUMN last_four   text,
      ADD COLUMN family_id   uuid,
      ADD COLUMN replaced_by uuid REFERENCES access_tokens (id)`,
  ];
}
