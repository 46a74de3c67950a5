import type { Type } from '@nestjs/common';
import { ChildEntity, Entity, PrimaryColumn, TableInheritance } from 'typeorm';
import { SqlMigration } from './sql-migration.js';
import { TableRegistry } from './table-registry.js';

class Migration extends SqlMigration {
  readonly statements = [];
}
class CreateA1700000000001 extends Migration {}
class CreateD extends Migration {
  name = 'CreateD1700000000001';
}

@Entity('things')
@TableInheritance({ column: 'kind' })
class Thing {
  @PrimaryColumn('uuid')
  declare id: string;
}

@ChildEntity()
class Gadget extends Thing {}

@Entity()
class Things {}

@Entity({ name: 'things', schema: 'other' })
class OtherThing {}

const add = (entities: Type[], migrations: Type<Migration>[]) => new TableRegistry().add({ entities, migrations });

describe('the tables of all modules', () => {
  it.each<[string, Type<Migration>[], string]>([
    [
      'with the place of another by a name of its own',
      [CreateA1700000000001, CreateD],
      'CreateD1700000000001 end in the same 13 digits',
    ],
    ['that is there already', [CreateA1700000000001, CreateA1700000000001], 'CreateA1700000000001 is registered twice'],
  ])('have no migration %s', (_case, migrations, message) => {
    expect(() => add([], migrations)).toThrow(message);
  });

  it('have no entity in the table of another, but for those that share it on purpose', () => {
    expect(() => add([Thing, Gadget, OtherThing], [])).not.toThrow();
    expect(() => add([Thing, Things], [])).toThrow(
      'Thing and Things are both kept in the table things: give one of them another',
    );
    expect(() => add([Thing, Thing], [])).toThrow('The entity Thing is registered twice');
  });
});
