import { SqlMigration } from '../../database/migrations.js';

export class CreateIdempotencyKeys1767225600004 extends SqlMigration {
  readonly statements = [
    `CREATE TABLE idempotency_keys (
      token_id   uuid NOT NULL,
      key        text NOT NULL COLLATE "C",
      digest     bytea NOT NULL,
      status     smallint,
      body       text,
      expires_at timestamptz NOT NULL,
      PRIMARY KEY (token_id, key)
    )`,
    'CREATE INDEX idempotency_keys_expires_at_idx ON idempotency_keys (expires_at)',
  ];
}
