import { Column, Entity, PrimaryColumn } from 'typeorm';
import { SqlMigration } from '../database/sql-migration.js';
import { IndexMigration } from '../database/index-migration.js';
import { defineFilter } from './filter/define-filter.js';
import { missingIndexes } from './filter-indexes.js';

@Entity('shelves')
class Shelf {
  @PrimaryColumn('uuid')
  declare id: string;

  @Column('text', { name: 'shelf_label' })
  declare label: string;
}

const filter = defineFilter(Shelf, { label: { type: 'string', indexes: ['shelves_label_idx'] } }, {});

class Concurrently1767225700005 extends IndexMigration {
  readonly index = 'shelves_label_idx';
  readonly definition = 'ON shelves (shelf_label COLLATE "C")';
}

const migration = (place: number, statements: string[]) => {
  class Statements extends SqlMigration {
    readonly name = `Statements${place}`;
    readonly statements = statements;
  }
  return Statements;
};

const BUILT = 'CREATE INDEX shelves_label_idx ON shelves (shelf_label)';
const NOT_BUILT = 'Shelf.label names the index shelves_label_idx, which no registered migration builds: ';
const OTHER = 'Shelf.label names the index shelves_label_idx, which is not one of the column shelf_label of the table shelves';

const faultsOf = (...migrations: Parameters<typeof missingIndexes>[1]['migrations'][number][]) =>
  missingIndexes([filter], { entities: [Shelf], migrations });

it.each([
  ['by a migration of its own', [Concurrently1767225700005]],
  ['with its table', [migration(1767225700001, ['CREATE TABLE shelves (id uuid)', BUILT])]],
  ['as unique', [migration(1767225700001, [BUILT.replace('INDEX', 'UNIQUE INDEX')])]],
  ['as a constraint', [migration(1767225700001, ['ALTER TABLE shelves ADD CONSTRAINT shelves_label_idx UNIQUE (shelf_label)'])]],
  ['again after it was dropped', [migration(1767225700001, [`DROP INDEX IF EXISTS shelves_label_idx; ${BUILT}`])]],
  ['and given a comment', [migration(1767225700001, [BUILT, 'COMMENT ON INDEX shelves_label_idx IS $$x$$'])]],
])('takes an index that is built %s', (_case, migrations) => {
  expect(faultsOf(...migrations)).toEqual([]);
});

it.each([
  ['nobody builds', [], NOT_BUILT],
  ['only a comment builds', [migration(1767225700001, [`-- ${BUILT}`, `/* ${BUILT} */ SELECT 1`])], NOT_BUILT],
  ['only a name like it has', [migration(1767225700001, [BUILT.replace('_idx', '_idx2')])], NOT_BUILT],
  [
    'is dropped later',
    [migration(1767225700002, ['DROP INDEX shelves_label_idx']), migration(1767225700001, [BUILT])],
    NOT_BUILT,
  ],
  ['is of another table', [migration(1767225700001, [BUILT.replace('ON shelves', 'ON items')])], OTHER],
  ['is of another column', [migration(1767225700001, [BUILT.replace('(shelf_label)', "(id) WHERE shelf_label = 'x'")])], OTHER],
])('does not take an index that %s', (_case, migrations, message) => {
  expect(faultsOf(...migrations)).toEqual([expect.stringContaining(message)]);
});

it('leaves filters alone whose entity nobody registered', () => {
  expect(missingIndexes([filter], { entities: [], migrations: [] })).toEqual([]);
});
