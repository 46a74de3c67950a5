import { SqlMigration } from '../../platform/index.js';

export class CreateItems1767225600001 extends SqlMigration {
  readonly statements = [
    `CREATE TABLE items (
      id          uuid PRIMARY KEY,
      name        text NOT NULL,
      description text
    )`,
  ];
}
