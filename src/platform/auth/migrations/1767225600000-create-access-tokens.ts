import { SqlMigration } from '../../database/migrations.js';

export class CreateAccessTokens1767225600000 extends SqlMigration {
  readonly statements = [
    `CREATE TABLE access_tokens (
      id           uuid PRIMARY KEY,
      name         text NOT NULL,
      digest       bytea NOT NULL UNIQUE,
      created_at   timestamptz NOT NULL,
      expires_at   timestamptz,
      revoked_at   timestamptz,
      last_used_on date
    )`,
  ];
}
