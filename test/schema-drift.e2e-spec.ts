import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { type INestApplicationContext, Logger, Module, type Type } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  Check,
  Column,
  CreateDateColumn,
  DataSource,
  DeleteDateColumn,
  Entity,
  Index,
  JoinColumn,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  TableInheritance,
  ChildEntity,
  Tree,
  TreeChildren,
  TreeParent,
  Unique,
  UpdateDateColumn,
  VersionColumn,
  ViewEntity,
  VirtualColumn,
} from 'typeorm';
import { startApp } from '../src/bootstrap.js';
import { ItemsModule } from '../src/items/items.module.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { readConfiguration } from '../src/platform/config/read-configuration.js';
import { Database } from '../src/platform/database/database.js';
import { checkSchema } from '../src/platform/database/schema-drift.js';
import { IndexMigration, MigrationsModule, SqlMigration } from '../src/platform/index.js';
import { CatsModule } from './fixtures/cats/cats.module.js';
import { ExportModule } from './fixtures/export/export.module.js';
import { LibraryModule } from './fixtures/library/library.module.js';
import { OrdersModule } from './fixtures/orders/orders.module.js';
import { SeedsModule } from './fixtures/seeds/seeds.module.js';
import { UsersModule } from './fixtures/users/users.module.js';
import { WidgetsModule } from './fixtures/widgets/widgets.module.js';
import { serverDefaults } from './support/process.js';
import { startService } from './support/service.js';
import { createTestDatabase, runOn, type TestDatabase } from './support/test-database.js';
import { useService } from './support/use-service.js';

/** A module with these entities and the migration that creates their tables. */
function moduleOf(entities: Type[], statements: string[]): Type {
  class CreateZoo1795219200001 extends SqlMigration {
    readonly statements = statements;
  }
  @Module({
    imports: [
      PlatformModule,
      ItemsModule,
      TypeOrmModule.forFeature(entities),
      MigrationsModule.forFeature([CreateZoo1795219200001]),
    ],
  })
  class ZooModule {}
  return ZooModule;
}

let warned: jest.SpiedFunction<Logger['warn']>;
beforeEach(() => {
  warned = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
});
afterEach(() => warned.mockRestore());

const warnings = () => warned.mock.calls.map(([message]) => String(message));

/** Why the service does not start, or an empty text. */
async function refusal(module: Type, given?: TestDatabase): Promise<string> {
  const database = given ?? (await createTestDatabase());
  const configuration = readConfiguration({ ...serverDefaults, ...database.environment, LOG_LEVEL: 'silent' });
  let app: INestApplicationContext | undefined;
  try {
    app = await startApp(configuration, module);
    await app.get(Database).started;
    return '';
  } catch (error) {
    return (error as Error).message;
  } finally {
    await app?.close();
  }
}

describe('an entity that its table fits', () => {
  enum Color {
    Red = 'red',
    Blue = 'blue',
  }

  class Size {
    @Column({ precision: 10, scale: 2, type: 'numeric' }) declare width: string;
    @Column('decimal', { precision: 8 }) declare height: string;
  }

  @Entity({ name: 'keepers', schema: 'staff' })
  class Keeper {
    @PrimaryGeneratedColumn() declare id: number;
    @Column({ type: 'varchar', length: 20 }) declare name: string;
    @Column(() => Size) declare size: Size;
  }

  @Entity('Animals')
  @Index(['name'])
  @Index(['age'], { unique: true, where: 'tame' })
  @Check('"age" > 0')
  @TableInheritance({ column: { type: 'varchar', name: 'kind' } })
  class Animal {
    @PrimaryGeneratedColumn('uuid') declare id: string;
    @Column() declare name: string;
    @Column({ unique: true }) declare 'odd "name': string;
    @Column({ select: false, nullable: true }) declare secret: string;
    @Column('int4') declare age: number;
    @Column('int2') declare legs: number;
    @Column('int8') declare stars: string;
    @Column('float') declare weight: number;
    @Column('float4') declare speed: number;
    @Column('bool', { default: true }) declare tame: boolean;
    @Column({ type: 'char', length: 3 }) declare code: string;
    @Column('timetz') declare feeding: string;
    @Column('time', { precision: 3 }) declare walk: string;
    @Column({ type: 'timestamptz', precision: 3 }) declare born: Date;
    @Column('timestamp') declare seen: Date;
    @Column('interval') declare pause: string;
    @Column({ type: 'varbit', length: 8 }) declare bits: string;
    @Column('bytea') declare picture: Buffer;
    @Column('jsonb') declare data: object;
    @Column('simple-json') declare more: object;
    @Column('simple-array') declare tags: string[];
    @Column('text', { array: true }) declare names: string[];
    @Column('int', { array: true, nullable: true }) declare numbers: number[];
    @Column({ type: 'varchar', array: true, length: 9 }) declare words: string[];
    @Column({ type: 'enum', enum: Color }) declare color: Color;
    @Column({ type: 'simple-enum', enum: Color, enumName: 'other_color' }) declare other: Color;
    @Column({ type: 'enum', enum: Color, enumName: 'other_color', array: true }) declare several: Color[];
    @Column('inet') declare address: string;
    @Column('tstzrange') declare span: string;
    @Column('text') declare checked: string;
    @Column({ type: 'text', generatedType: 'STORED', asExpression: 'name || code' }) declare label: string;
    @VirtualColumn({ query: (alias) => `SELECT count(*) FROM ${alias}` }) declare count: number;
    @CreateDateColumn() declare createdAt: Date;
    @UpdateDateColumn({ type: 'timestamptz' }) declare updatedAt: Date;
    @DeleteDateColumn({ type: 'timestamptz' }) declare deletedAt: Date;
    @VersionColumn() declare version: number;
    @ManyToOne(() => Keeper, { nullable: false }) declare keeper: Relation<Keeper>;
    @OneToOne(() => Keeper) @JoinColumn({ name: 'substitute' }) declare other1: Relation<Keeper>;
    @ManyToMany(() => Keeper) @JoinTable({ name: 'visits' }) declare visitors: Relation<Keeper>[];
  }

  @ChildEntity()
  class Bird extends Animal {
    @Column() declare wings: number;
  }

  @Entity('cages')
  @Tree('closure-table')
  class Cage {
    @PrimaryColumn('uuid') declare id: string;
    @TreeParent() declare parent: Cage;
    @TreeChildren() declare children: Cage[];
  }

  /** Of another application, which fills the other columns. */
  @Entity('tickets', { synchronize: false })
  class Ticket {
    @PrimaryColumn('uuid') declare id: string;
  }

  @Entity('partitioned')
  class Partitioned {
    @PrimaryColumn('bigint') declare id: string;
    @Column({ type: 'varchar' }) declare filled: string;
  }

  @Entity('shown')
  class Shown {
    @PrimaryColumn('bigint') declare id: string;
  }

  @ViewEntity('unknown')
  class Unknown {
    @PrimaryColumn('bigint') declare id: string;
  }

  const STATEMENTS = [
    'CREATE SCHEMA staff',
    `CREATE TABLE staff.keepers (id serial PRIMARY KEY, name character varying(20) NOT NULL,
      "sizeWidth" numeric(10,2) NOT NULL, "sizeHeight" numeric(8) NOT NULL)`,
    `CREATE TYPE "Animals_color_enum" AS ENUM ('blue', 'green', 'red')`,
    `CREATE TYPE other_color AS ENUM ('red', 'blue')`,
    `CREATE DOMAIN checked AS text NOT NULL CHECK (value <> '')`,
    `CREATE DOMAIN filled AS text NOT NULL DEFAULT 'x'`,
    `CREATE TABLE "Animals" (kind text NOT NULL, id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text NOT NULL,
      "odd ""name" varchar NOT NULL UNIQUE, secret text, age int NOT NULL, legs smallint NOT NULL, stars bigint NOT NULL,
      weight double precision NOT NULL, speed real NOT NULL, tame boolean NOT NULL DEFAULT true, code char(3) NOT NULL, feeding time with time zone NOT NULL,
      walk time(3) NOT NULL, born timestamp(3) with time zone NOT NULL, seen timestamp NOT NULL, pause interval NOT NULL,
      bits bit varying(8) NOT NULL, picture bytea NOT NULL, data jsonb NOT NULL, more text NOT NULL, tags text NOT NULL,
      names text[] NOT NULL, numbers int[], words varchar(9)[] NOT NULL, color "Animals_color_enum" NOT NULL, other other_color NOT NULL,
      several other_color[] NOT NULL, address inet NOT NULL, span tstzrange NOT NULL, checked checked,
      label text GENERATED ALWAYS AS (name || code) STORED, "createdAt" timestamp NOT NULL DEFAULT now(), "updatedAt" timestamptz NOT NULL DEFAULT now(), "deletedAt" timestamptz, version int NOT NULL,
      "keeperId" int NOT NULL REFERENCES staff.keepers, substitute int REFERENCES staff.keepers, wings integer,
      dropped text NOT NULL, extra text, further filled, "with default" text NOT NULL DEFAULT '', number int NOT NULL GENERATED ALWAYS AS IDENTITY)`,
    'ALTER TABLE "Animals" DROP COLUMN dropped',
    'CREATE UNIQUE INDEX ON "Animals" (age) WHERE tame',
    `CREATE TABLE visits ("animalsId" uuid NOT NULL, "keepersId" int NOT NULL, PRIMARY KEY ("animalsId", "keepersId"))`,
    'CREATE TABLE cages (id uuid PRIMARY KEY, "parentId" uuid)',
    'CREATE TABLE cages_closure (id_ancestor uuid NOT NULL, id_descendant uuid NOT NULL, PRIMARY KEY (id_ancestor, id_descendant))',
    'CREATE TABLE tickets (id uuid NOT NULL, price int NOT NULL)',
    'CREATE TABLE partitioned (id bigint NOT NULL, filled text NOT NULL, number int NOT NULL, PRIMARY KEY (id, number)) PARTITION BY RANGE (number)',
    'CREATE TABLE partitioned_1 PARTITION OF partitioned FOR VALUES FROM (0) TO (1000)',
    `CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.number = 1; RETURN NEW; END'`,
    'CREATE TRIGGER fill BEFORE INSERT ON partitioned FOR EACH ROW EXECUTE FUNCTION fill()',
    'CREATE VIEW shown AS SELECT id FROM partitioned',
  ];

  it('has no differences, whatever types, relations and further columns it has [drift-no-false-alarm]', async () => {
    const entities = [Keeper, Animal, Bird, Cage, Ticket, Partitioned, Shown, Unknown];
    expect([await refusal(moduleOf(entities, STATEMENTS)), warnings()]).toEqual(['', []]);
  });
});

it('is found in no fixture, which are the examples of the documentation, and before the indexes are checked [drift-no-false-alarm]', async () => {
  @Module({
    imports: [
      PlatformModule,
      ItemsModule,
      CatsModule,
      ExportModule,
      LibraryModule,
      OrdersModule,
      SeedsModule,
      UsersModule,
      WidgetsModule,
    ],
  })
  class AllModule {}

  const database = await createTestDatabase();
  expect(await refusal(AllModule, database)).toBe('');
  expect(warnings().filter((text) => text.includes('the column'))).toEqual([]);
  // An order needs it, too, and so do its index and a view.
  await runOn(database, 'ALTER TABLE books DROP COLUMN title CASCADE');
  expect(await refusal(AllModule, database)).toMatch(
    /^The database .*\n- Book: the column "title" of "books" does not exist\./,
  );
});

@Entity('labels')
class Label {
  @PrimaryGeneratedColumn() declare id: number;
}

enum Size {
  Small = 'small',
  Large = 'large',
}

@Entity('badges')
@Unique('badges_key', ['year', 'code'])
@Index('badges_worn', ['code'], { unique: true, where: 'year > 5' })
class Badge {
  @PrimaryGeneratedColumn('uuid') declare id: string;
  @CreateDateColumn() declare made: Date;
  @UpdateDateColumn({ type: 'timestamptz' }) declare changed: Date;
  @VersionColumn() declare version: number;
  @Column('int', { unique: true }) declare number: number;
  @Column('int') declare year: number;
  @Column('int') declare code: number;
}

@Entity('stamps')
class Stamp {
  @PrimaryGeneratedColumn('uuid') declare id: string;
}

@Entity('gadgets')
class Gadget {
  @PrimaryColumn('uuid') declare id: string;
  @Column('text') declare name: string;
  @Column('int', { default: 5 }) declare price: number;
  @Column({ type: 'timestamptz', nullable: true, precision: 3 }) declare sold: Date | null;
  @Column({ type: 'enum', enum: Size }) declare size: Size;
  @ManyToMany(() => Label) @JoinTable({ name: 'labelled' }) declare labels: Relation<Label>[];
}

const TABLES = [
  'CREATE TABLE labels (id serial PRIMARY KEY)',
  'CREATE TABLE stamps (id uuid PRIMARY KEY DEFAULT gen_random_uuid())',
  "CREATE TYPE gadgets_size_enum AS ENUM ('small', 'large')",
  `CREATE TABLE gadgets (id uuid PRIMARY KEY, name text NOT NULL, price int NOT NULL DEFAULT 5, sold timestamptz(3),
    size gadgets_size_enum NOT NULL)`,
  `CREATE TABLE badges (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), made timestamp NOT NULL DEFAULT now(),
    changed timestamptz NOT NULL DEFAULT now(), version int NOT NULL, number int NOT NULL UNIQUE, year int NOT NULL, code int NOT NULL, CONSTRAINT badges_key UNIQUE (year, code))`,
  'CREATE UNIQUE INDEX badges_worn ON badges (code) WHERE year > 5',
  'CREATE TABLE labelled ("gadgetsId" uuid REFERENCES gadgets, "labelsId" int REFERENCES labels, PRIMARY KEY ("gadgetsId", "labelsId"))',
];
const GADGETS = moduleOf([Gadget, Label, Badge, Stamp], TABLES);

/** The statements that a text names. */
const sqlIn = (text: string) => [...text.matchAll(/\b(?:ALTER|CREATE|REINDEX) [^;]+;/g)].map(([sql]) => sql);

describe('a table that was changed', () => {
  const service = useService(() => startService({}, undefined, GADGETS));
  let dataSource: DataSource;
  beforeAll(() => {
    dataSource = service.app.get(DataSource);
  });

  it.each<[string, string, string[]]>([
    [
      'a missing column',
      'ALTER TABLE gadgets DROP COLUMN sold, DROP COLUMN price',
      [
        'Gadget: the column "price" of "gadgets" does not exist. Add a migration with ALTER TABLE "gadgets" ADD "price" integer NOT NULL DEFAULT \'5\';',
        'Gadget: the column "sold" of "gadgets" does not exist. Add a migration with ALTER TABLE "gadgets" ADD "sold" TIMESTAMP(3) WITH TIME ZONE;',
      ],
    ],
    [
      'a missing column that may not be null, whose type is missing as well',
      'DROP TYPE gadgets_size_enum CASCADE',
      [
        `Gadget: the column "size" of "gadgets" does not exist. Add a migration with CREATE TYPE "public"."gadgets_size_enum" AS ENUM('small', 'large'); ALTER TABLE "gadgets" ADD "size" "public"."gadgets_size_enum" NOT NULL; (and a DEFAULT for rows that exist)`,
      ],
    ],
    [
      'a column that the entity does not know, and that each insert leaves null',
      'ALTER TABLE gadgets ADD COLUMN weight int NOT NULL',
      [
        'Gadget: the column "weight" of "gadgets" is not in the entity, and may not be null: every insert fails. Add it to the entity, or a migration with ALTER TABLE "gadgets" ALTER COLUMN "weight" DROP NOT NULL;',
      ],
    ],
    [
      'a missing table',
      'DROP TABLE labelled, labels',
      [
        'Label: the table "labels" does not exist. Register a migration that creates it with MigrationsModule.forFeature(), or correct the search_path: CREATE TABLE "labels" ("id" SERIAL NOT NULL, CONSTRAINT',
        'labelled: the table "labelled" does not exist. Register a migration that creates it with MigrationsModule.forFeature(), or correct the search_path: CREATE TABLE "labelled" ("gadgetsId" uuid NOT NULL, "labelsId" integer NOT NULL, CONSTRAINT "PK_9cf3fd5f9a181c955151a03a8b6" PRIMARY KEY ("gadgetsId", "labelsId")); CREATE INDEX "IDX_6982795b10882451ed0013194c" ON "labelled"  ("gadgetsId") ; CREATE INDEX "IDX_76f28e72835a090e3cdaebd29c" ON "labelled"  ("labelsId") ; and, when the tables that it refers to exist, ALTER TABLE "labelled" ADD CONSTRAINT "FK_6982795b10882451ed0013194ca" FOREIGN KEY ("gadgetsId") REFERENCES "gadgets"("id") ON DELETE CASCADE ON UPDATE CASCADE; ALTER TABLE "labelled" ADD CONSTRAINT "FK_76f28e72835a090e3cdaebd29c7" FOREIGN KEY ("labelsId") REFERENCES "labels"("id") ON DELETE CASCADE ON UPDATE CASCADE;',
      ],
    ],
    [
      'a missing table with generated ids',
      'DROP TABLE stamps',
      ['Stamp: the table "stamps" does not exist. Register a migration'],
    ],
    [
      'a missing default of times and numbers that TypeORM leaves to the database',
      'ALTER TABLE badges ALTER COLUMN made DROP DEFAULT, ALTER COLUMN changed DROP DEFAULT; ALTER TABLE labels ALTER COLUMN id DROP DEFAULT',
      [
        'Badge: the column "changed" of "badges" has no default, which inserts without a value need. Add a migration with ALTER TABLE "badges" ALTER COLUMN "changed" SET DEFAULT now();',
        'Badge: the column "made" of "badges" has no default, which inserts without a value need. Add a migration with ALTER TABLE "badges" ALTER COLUMN "made" SET DEFAULT now();',
        'Label: the column "id" of "labels" has no default, which inserts without a value need. Add a migration with ALTER TABLE "labels" ALTER COLUMN "id" ADD GENERATED BY DEFAULT AS IDENTITY; (and START WITH for rows that exist)',
      ],
    ],
    [
      'a missing primary key',
      'ALTER TABLE gadgets DROP CONSTRAINT gadgets_pkey CASCADE',
      [
        'Gadget: the unique index ("id") of "gadgets" does not exist. Add a migration with ALTER TABLE "gadgets" ADD PRIMARY KEY ("id");',
      ],
    ],
    [
      'an invalid primary key',
      `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'gadgets_pkey'::regclass`,
      ['Gadget: the unique index ("id") of "gadgets" is invalid. Run REINDEX INDEX gadgets_pkey;'],
    ],
  ])('is an error that names the SQL that fixes it: %s', async (_case, statement, faults) => {
    await dataSource.query(statement);
    const message = await checkSchema(dataSource).then(String, (error: Error) => error.message);
    expect(message).toMatch(/^The database does not fit the entities:\n- /);
    for (const fault of faults) expect(message).toContain(`- ${fault}`);
    expect(message.split('\n')).toHaveLength(faults.length + 1);
    for (const sql of sqlIn(message)) await dataSource.query(sql);
    await checkSchema(dataSource);
    expect(warnings()).toEqual([]);
  });

  it.each<[string, string, string[]]>([
    [
      'types',
      'ALTER TABLE gadgets ALTER COLUMN price TYPE bigint, ALTER COLUMN sold TYPE timestamptz(0), ALTER COLUMN name TYPE varchar(9)',
      [
        'Gadget: the column "name" of "gadgets" is character varying(9), and text in the entity: correct its type there, or add a migration with ALTER TABLE "gadgets" ALTER COLUMN "name" TYPE text USING "name"::text;',
        'Gadget: the column "price" of "gadgets" is bigint, and integer in the entity: correct its type there, or add a migration with ALTER TABLE "gadgets" ALTER COLUMN "price" TYPE integer USING "price"::integer;',
        'Gadget: the column "sold" of "gadgets" is timestamp(0) with time zone, and timestamp(3) with time zone in the entity: correct its type there, or add a migration with ALTER TABLE "gadgets" ALTER COLUMN "sold" TYPE timestamp(3) with time zone USING "sold"::timestamp(3) with time zone;',
      ],
    ],
    [
      'nullability',
      'ALTER TABLE gadgets ALTER COLUMN name DROP NOT NULL, ALTER COLUMN sold SET NOT NULL',
      [
        'Gadget: the column "name" of "gadgets" may be null, unlike in the entity: correct it there, or add a migration with ALTER TABLE "gadgets" ALTER COLUMN "name" SET NOT NULL;',
        'Gadget: the column "sold" of "gadgets" may not be null, unlike in the entity: correct it there, or add a migration with ALTER TABLE "gadgets" ALTER COLUMN "sold" DROP NOT NULL;',
      ],
    ],
    [
      'values of an enumeration',
      `DROP TYPE gadgets_size_enum CASCADE; CREATE TYPE sizes AS ENUM ('small'); ALTER TABLE gadgets ADD COLUMN size sizes NOT NULL`,
      [
        `Gadget: the column "size" of "gadgets" lacks values of the entity. Add a migration with ALTER TYPE sizes ADD VALUE 'large';`,
      ],
    ],
    [
      'defaults of other columns',
      'ALTER TABLE badges ALTER COLUMN id DROP DEFAULT; ALTER TABLE gadgets ALTER COLUMN price DROP DEFAULT',
      [
        'Badge: the column "id" of "badges" has no default, which inserts without a value need. Add a migration with ALTER TABLE "badges" ALTER COLUMN "id" SET DEFAULT gen_random_uuid();',
        `Gadget: the column "price" of "gadgets" has no default, which inserts without a value need. Add a migration with ALTER TABLE "gadgets" ALTER COLUMN "price" SET DEFAULT '5';`,
      ],
    ],
    [
      'unique constraints and indexes, and keys of join tables',
      `ALTER TABLE badges DROP CONSTRAINT badges_number_key, DROP CONSTRAINT badges_key; DROP INDEX badges_worn;
        DROP TABLE labelled; CREATE TABLE labelled ("gadgetsId" uuid NOT NULL, "labelsId" int NOT NULL)`,
      [
        'Badge: the unique index ("code") of "badges" does not exist. Add a migration with CREATE UNIQUE INDEX "badges_worn" ON "badges" ("code") WHERE year > 5;',
        'Badge: the unique index ("number") of "badges" does not exist. Add a migration with ALTER TABLE "badges" ADD UNIQUE ("number");',
        'Badge: the unique index ("year", "code") of "badges" does not exist. Add a migration with ALTER TABLE "badges" ADD CONSTRAINT "badges_key" UNIQUE ("year", "code");',
        'labelled: the unique index ("gadgetsId", "labelsId") of "labelled" does not exist. Add a migration with ALTER TABLE "labelled" ADD PRIMARY KEY ("gadgetsId", "labelsId");',
      ],
    ],
  ])('is a warning that names the SQL that removes it: %s [drift-warns]', async (_case, statement, texts) => {
    await dataSource.query(statement);
    await checkSchema(dataSource);
    expect(warnings().toSorted()).toEqual(texts);
    for (const sql of sqlIn(warnings().join('\n'))) await dataSource.query(sql);
    warned.mockClear();
    await checkSchema(dataSource);
    expect(warnings()).toEqual([]);
  });

  it.each([
    ['badges', 'id'],
    ['badges', 'made'],
    ['badges', 'changed'],
    ['labels', 'id'],
    ['gadgets', 'price'],
    ['badges', 'version'],
  ] as const)('names the default of %s.%s if inserts of TypeORM need it', async (table, column) => {
    const { manager } = dataSource;
    const insert = {
      badges: () => manager.insert(Badge, { number: 1, year: 1, code: 1 }),
      labels: () => manager.insert(Label, {}),
      gadgets: () => manager.insert(Gadget, { id: randomUUID(), name: 'x', size: Size.Small }),
    }[table];
    const alter = `ALTER TABLE ${table} ALTER COLUMN ${column}`;
    await dataSource.query(`${alter} DROP IDENTITY IF EXISTS; ${alter} DROP DEFAULT`);
    const message = await checkSchema(dataSource).then(String, (error: Error) => error.message);
    const found = [message, ...warnings()].join('\n');
    const isInserted = await insert().then(
      () => true,
      () => false,
    );
    expect([found.includes(`"${column}" of "${table}" has no default`), isInserted]).toEqual(
      column === 'version' ? [false, true] : [true, false],
    );
    await dataSource.query(`DELETE FROM ${table}; ${sqlIn(found).join(' ')}`);
    await insert();
    await dataSource.query(`DELETE FROM ${table}`);
  });

  it('is compared by a statement that takes the names of all types', async () => {
    const { driver } = dataSource;
    const types = driver.supportedDataTypes.map((type) => driver.normalizeType({ type }));
    const names = types.flatMap((type) => [type, `${type}[]`]);
    expect(await dataSource.query('SELECT to_regtype(name) FROM unnest($1::text[]) AS name', [names])).toHaveLength(
      names.length,
    );
  });

  it('warns of an enumeration that is text in the database', async () => {
    await dataSource.query('ALTER TABLE gadgets ALTER COLUMN size TYPE text');
    await checkSchema(dataSource);
    const text = 'Gadget: the column "size" of "gadgets" is text, and enum in the entity: correct its type there';
    expect(warnings()).toEqual([text]);
  });
});

describe('a migration that was changed after it had been applied', () => {
  const remedy =
    'was changed after it had been applied, without effect: undo that, and put the change into a new migration.';
  const withIndex = (statements: string[], definition = 'ON labels (id)', ...later: Type<SqlMigration>[]) => {
    class IndexLabels1795219200002 extends IndexMigration {
      readonly index = 'labels_id_idx';
      readonly definition = definition;
    }
    @Module({
      imports: [moduleOf([Gadget, Label], statements), MigrationsModule.forFeature([IndexLabels1795219200002, ...later])],
    })
    class IndexedModule {}
    return IndexedModule;
  };

  it('is named, not if only its spaces changed [changed-migration-named]', async () => {
    const database = await createTestDatabase();
    expect([await refusal(withIndex(TABLES), database), warnings()]).toEqual(['', []]);
    const spaced = TABLES.map((statement) => statement.replaceAll(' ', '\n   '));
    expect([await refusal(withIndex(spaced), database), warnings()]).toEqual(['', []]);
    const further = [...TABLES, 'CREATE INDEX further ON labels (id)'];
    class Later1795219200003 extends SqlMigration {
      readonly statements = ['SELECT 1'];
    }
    // Also after another one was applied.
    for (const later of [[], [Later1795219200003]]) {
      warned.mockClear();
      expect(await refusal(withIndex(further, 'ON labels (id DESC)', ...later), database)).toBe('');
      expect(warnings()).toEqual([`CreateZoo1795219200001 ${remedy}`, `IndexLabels1795219200002 ${remedy}`]);
    }
  });

  it('is named beside the column that it would have made, without which the service does not start [drift-stops-start] [changed-migration-named]', async () => {
    const without = TABLES.map((statement) => statement.replace('price int NOT NULL DEFAULT 5,', ''));
    const database = await createTestDatabase();
    expect(await refusal(moduleOf([Label], without), database)).toBe('');
    const message = await refusal(GADGETS, database);
    expect(message).toMatch(/^The database .*\n- Gadget: the column "price" .*\n- CreateZoo1795219200001 was changed/);
  });

  it('is not known of one that was applied before digests were stored, until another is applied', async () => {
    const database = await createTestDatabase();
    expect(await refusal(GADGETS, database)).toBe('');
    await runOn(database, 'UPDATE migrations SET digest = NULL');
    const others = [...TABLES, 'SELECT 1'];
    expect([await refusal(moduleOf([Gadget, Label], others), database), warnings()]).toEqual(['', []]);
    expect([await refusal(withIndex(others), database), warnings()]).toEqual(['', []]);
    await refusal(withIndex(TABLES), database);
    expect(warnings()).toEqual([`CreateZoo1795219200001 ${remedy}`]);
  });
});
