import { jest } from '@jest/globals';
import { Module } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { TypeOrmModule } from '@nestjs/typeorm';
import { plainToInstance } from 'class-transformer';
import {
  Between,
  Column,
  DataSource,
  DeleteDateColumn,
  Entity,
  type EntityManager,
  In,
  MoreThan,
  Not,
  PrimaryColumn,
  Repository,
} from 'typeorm';
import { v7 } from 'uuid';
import { ItemsModule } from '../src/items/items.module.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { Item } from '../src/items/item.entity.js';
import { itemFilter } from '../src/items/item.filter.js';
import {
  Database,
  defineFilter,
  defineOrder,
  type ListOptions,
  Lists,
  MigrationsModule,
  newId,
  PageOf,
  PageQueryOf,
  SqlMigration,
} from '../src/platform/index.js';
import { checkIndexes } from '../src/platform/lists/required-indexes.js';
import { startService } from './support/service.js';
import { useService } from './support/use-service.js';

// Another team's list of an entity with soft-deleted rows.

@Entity('notes')
class Note {
  @PrimaryColumn('uuid')
  declare id: string;

  @Column('text', { name: 'note_title' })
  declare title: string;

  @Column('text', { default: 'bells' })
  declare topic: string;

  @Column('text', { nullable: true, transformer: { from: String, to: String } })
  declare tone: string | null;

  @Column('timestamptz', { name: 'rung_at', default: () => 'now()' })
  declare rungAt: Date;

  @DeleteDateColumn({ type: 'timestamptz', name: 'hidden_at' })
  declare hiddenAt: Date | null;
}

class CreateNotes1767225700000 extends SqlMigration {
  readonly statements = [
    `CREATE TABLE notes (
      id uuid PRIMARY KEY, note_title text NOT NULL, topic text NOT NULL DEFAULT 'bells', tone text,
      rung_at timestamptz NOT NULL DEFAULT now(), hidden_at timestamptz
    )`,
    'CREATE INDEX notes_topic_rung_at_id_idx ON notes (topic COLLATE "C", rung_at, id)',
  ];
}

const latestOfTopic = defineOrder(Note, 'rungAt', 'DESC', ['topic']);

class NoteDto {
  @ApiProperty()
  declare rungAt: Date;
}

PageOf(NoteDto, latestOfTopic);

class NotesQuery extends PageQueryOf(
  defineFilter(
    Note,
    { title: { type: 'string', unindexed: 'the notes are few' }, written: { type: 'creationTime' } },
    { 'About bells': 'title.contains("bell")' },
  ),
) {}

@Module({
  imports: [
    PlatformModule,
    ItemsModule,
    TypeOrmModule.forFeature([Note]),
    MigrationsModule.forFeature([CreateNotes1767225700000]),
  ],
})
class NotesModule {}

const service = useService(() => startService({}, undefined, NotesModule));

beforeAll(async () => {
  const notes = Array.from({ length: 30 }, (_, number) => ({
    id: v7({ msecs: Date.parse('2026-01-01T00:00:00Z') + number * 1000 }),
    title: `bell ${number}`,
    // The newest of them, and others here and there.
    hiddenAt: number >= 25 || number % 7 === 0 ? new Date() : null,
  }));
  await service.app.get(DataSource).getRepository(Note).insert(notes);
});

const notes = () => service.app.get(DataSource).getRepository(Note);
const find = (cursor: unknown, options: ListOptions<Note>, filter?: string) => {
  const query = plainToInstance(NotesQuery, { limit: '2', cursor, ...(filter !== undefined && { filter }) });
  return service.app.get(Lists).findPage(notes(), query, options);
};
const walk = async (options: ListOptions<Note>, filter?: string) => {
  const titles: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await find(cursor, options, filter);
    titles.push(...page.items.map(({ title }) => title));
    cursor = page.nextCursor;
    if (cursor) expect(page.items).toHaveLength(2);
  } while (cursor);
  return titles;
};

it.each([
  undefined,
  'title.contains("bell")',
  'written >= timestamp("2026-01-01T00:00:00Z")',
  'written < timestamp("2026-01-01T00:00:10Z") || written >= timestamp("2026-01-01T00:00:10Z")',
])('lists all rows that are not deleted, page by page, with the filter %s', async (filter) => {
  const shown = Array.from({ length: 25 }, (_, number) => number).filter((number) => number % 7 !== 0);
  expect(await walk({}, filter)).toEqual(shown.toReversed().map((number) => `bell ${number}`));
});

it('can be filtered within a transaction of TypeORM, even if that has the only connection', async () => {
  const query = plainToInstance(NotesQuery, { filter: 'title.contains("bell")' });
  const read = (manager: EntityManager) => service.app.get(Lists).findPage(manager.getRepository(Note), query);
  const { manager } = service.app.get(DataSource);
  const [first] = (await read(manager)).items;
  Object.assign(query, { cursor: { id: 'ffffffff-ffff-7fff-bfff-ffffffffffff', listDigest: '', value: '' } });
  expect((await manager.transaction(read)).items[0]).toEqual(first);
});

describe('in the order of a column, within a base condition', () => {
  const titles = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];

  beforeAll(async () => {
    // A Date has milliseconds, and these differ in microseconds; two are equal.
    const rows = titles.map((title, number) => [
      newId(),
      title,
      'clocks',
      `2026-01-01T00:00:00.00000${Math.min(number, 5)}Z`,
    ]);
    for (const row of [...rows, [newId(), 'x', "o'clock", '2026-01-01T00:00:00Z']]) {
      await notes().query('INSERT INTO notes (id, note_title, topic, rung_at) VALUES ($1, $2, $3, $4)', row);
    }
    await notes().update({ title: 'c' }, { hiddenAt: new Date() });
  });

  it('returns every row that is not deleted, with and without a filter [ordered-exactly-once]', async () => {
    const shown = ['g', 'f', 'e', 'd', 'b', 'a'];
    const options = { where: { topic: 'clocks' }, order: latestOfTopic };
    expect(await walk(options)).toEqual(shown);
    expect(await walk(options, 'title != "e" && written > timestamp("2000-01-01T00:00:00Z")')).toEqual(
      shown.filter((title) => title !== 'e'),
    );
    expect(await walk({ where: { topic: 'clocks' } })).toEqual(shown);
    expect(await walk({ where: { topic: "o'clock", hiddenAt: null } })).toEqual(['x']);
    expect(await walk({ where: { topic: "' OR TRUE --" } })).toEqual([]);
  });

  it('omits a row that leaves the base condition after its key was found [where-not-widened]', async () => {
    // TypeORM reads the rows of this entity by their keys.
    const spy = jest.spyOn(Repository.prototype, 'find').mockImplementationOnce(async function (
      this: Repository<Note>,
      options,
    ) {
      await notes().update({ title: 'g' }, { topic: 'moved' });
      return this.find(options);
    });
    const { items } = await find(undefined, { where: { topic: 'clocks' } });
    spy.mockRestore();
    expect(items.map(({ title }) => title)).toEqual(['f']);
    expect(await walk({ where: { topic: 'moved' } })).toEqual(['g']);
    await notes().update({ title: 'g' }, { topic: 'clocks' });
  });

  it('returns the rows of one of several values, whose cursors do not depend on their order [where-in]', async () => {
    const shown = ['x', 'g', 'f', 'e', 'd', 'b', 'a'];
    expect(await walk({ where: { topic: In(['clocks', "o'clock", 'none']) } })).toEqual(shown);
    expect(await walk({ where: { topic: In(['clocks', "o'clock"]) } }, 'title != "e"')).toEqual(shown.toSpliced(3, 1));
    expect(await walk({ where: { rungAt: In([new Date('2026-01-01T00:00:00Z'), new Date(0)]) } })).toEqual(['x', 'a']);
    const some = In(['a', 'c', 'd', 'g']);
    expect(await walk({ where: { topic: 'clocks', title: some }, order: latestOfTopic })).toEqual(['g', 'd', 'a']);
    expect(await walk({ where: { topic: In<string>([]) } })).toEqual([]);

    const pageOf = (topics: string[], after?: unknown) => find(after, { where: { topic: In(topics) } });
    const { nextCursor } = await pageOf(['clocks', "o'clock"]);
    expect((await pageOf(["o'clock", 'clocks', "o'clock"], nextCursor)).items.map(({ title }) => title)).toEqual(['f', 'e']);
    for (const topics of [['clocks'], ['clocks', "o'clock", 'bells'], ["clocks,o'clock"], []]) {
      await expect(pageOf(topics, nextCursor)).rejects.toMatchObject({ errors: [{ parameter: 'cursor' }] });
    }
  });

  it('accepts a cursor from any time, for the conditions in any order [cursor-never-expires]', async () => {
    // Made in 2026.
    const [newest, latest] = [
      'Av_______3__v__________83xFGhdLlCZOWOT4jzo8ZuNpKeA3r7A9iqnmbnRvQHQ',
      'Av_______3__v__________qMZ6nAq1PTzERKsa4BMPIMjAyNi0wMS0wMSAwMDowMDowMC4wMDAwMDQrMDBl7iu8n1wtA9SGzxFinMd7',
    ];
    const after = async (...given: [string, ListOptions<Note>]) => (await find(...given)).items.map(({ title }) => title);
    expect(await after(newest, { where: { hiddenAt: null, topic: "o'clock" } })).toEqual(['x']);
    expect(await after(newest, { where: { topic: "o'clock", hiddenAt: null } })).toEqual(['x']);
    expect(await after(latest, { where: { topic: 'clocks' }, order: latestOfTopic })).toEqual(['e', 'd']);
  });

  it('rejects other operators, null in a list, and several values where the order needs one [where-in]', async () => {
    const refused = (where: object, order?: typeof latestOfTopic) =>
      expect(find(undefined, { where, ...(order && { order }) })).rejects;
    const supported = '"where" supports values, null and In([…]).';
    await refused({ topic: Not('clocks') }).toThrow(`The list of Note has the operator "not" for topic: ${supported}`);
    await refused({ topic: In(Not(In(['clocks']))) }).toThrow(
      `The list of Note has the operator "in" for topic: ${supported}`,
    );
    await refused({ rungAt: MoreThan(new Date(0)) }).toThrow(supported);
    await refused({ rungAt: Between(new Date(0), new Date(1)) }).toThrow(supported);
    await refused({ hiddenAt: In([null]) }).toThrow('for hiddenAt with null, which equals nothing: leave it out.');
    await refused({ tone: In(['c']) }).toThrow(
      'for tone, whose column has a transformer: "where" supports one value of it.',
    );
    await refused({ title: In([1n]) }).toThrow('for title with a value that JSON cannot express: use finite numbers');
    await refused({ subject: In(['x']) }).toThrow('Note.subject is not a column');
    await refused({ topic: In(['clocks']) }, latestOfTopic).toThrow(
      'The order of Note by rungAt needs one value of topic: rows of several values are not in the order of its index.',
    );
  });

  it('rejects an undefined value in the condition, which would match all rows, and an order that does not fit [where-undefined]', async () => {
    const refused = (options: object) => expect(find(undefined, options)).rejects;
    await refused({ where: { topic: undefined } }).toThrow(
      'The list of Note has an undefined topic, which would match all rows: pass a value or null.',
    );
    await refused({ where: { subject: 'x' } }).toThrow('Note.subject is not a column');
    await refused({ order: latestOfTopic }).toThrow('The order of Note by rungAt is within topic: add topic to "where".');
    await refused({ order: { ...latestOfTopic, entity: Item } }).toThrow('has an order of Item');
    // The start does not know an order that `defineOrder` has not made.
    await refused({ where: { topic: 'x' }, order: { ...latestOfTopic } }).toThrow('would disclose rungAt');
    expect(() => defineOrder(Item, 'description' as 'name')).toThrow('Item cannot be sorted by description');
  });

  it('rejects a filter of another entity', async () => {
    const filter = itemFilter.parse('name == "x"') as never;
    const refused = expect(service.app.get(Lists).findPage(notes(), { limit: 2, filter })).rejects;
    await refused.toThrow('The list of Note has a filter of Item: use a PageQueryOf a Note filter.');
  });

  it('does not become ready without the index', async () => {
    const { manager } = notes();
    await expect(checkIndexes(manager.dataSource)).resolves.toBeUndefined();
    await manager.query('ALTER INDEX notes_topic_rung_at_id_idx RENAME TO another_name');
    await manager.query('CREATE INDEX other_order_idx ON notes (rung_at, id)');
    await manager.query('ANALYZE notes');
    await expect(checkIndexes(manager.dataSource)).resolves.toBeUndefined();
    await manager.query('DROP INDEX another_name');
    await manager.query('DROP INDEX other_order_idx');
    const definition = `ON "notes" ("topic" COLLATE "C", "rung_at", "id")`;
    const missing = `Note is sorted by rungAt, which no index supports: register an IndexMigration with definition = '${definition}'.`;
    for (const [index, isUseful] of [
      ['(topic, rung_at, id)', false],
      ['(rung_at, id)', false],
      ['(rung_at, id, topic COLLATE "C")', false],
      ['(topic COLLATE "C", rung_at DESC, id)', false],
      [`(topic COLLATE "C", rung_at, id) WHERE note_title = 'a'`, false],
      ['(topic COLLATE "C" DESC, rung_at DESC, id DESC)', true],
      ['(topic COLLATE "C", rung_at, id) WHERE hidden_at IS NULL', true],
    ] as const) {
      // As an `IndexMigration` does. Otherwise, PostgreSQL would not use it before all earlier transactions have ended.
      await manager.query(`CREATE INDEX CONCURRENTLY new_idx ON notes ${index}`);
      const check = expect(checkIndexes(manager.dataSource));
      await (isUseful ? check.resolves.toBeUndefined() : check.rejects.toThrow(missing));
      await manager.query('DROP INDEX new_idx');
    }
  });
});

describe('work that continues after its transaction', () => {
  it.each([
    ['committed', undefined],
    ['rolled back', new Error('rolled back')],
  ])('writes nothing and gets an error with the reason: %s [transaction-late-statements]', async (_name, failure) => {
    const [database, lists] = [service.app.get(Database), service.app.get(Lists)];
    const { manager } = service.app.get(DataSource);
    const repository = manager.getRepository(Item);
    const row = () => ({ id: newId(), name: 'late' });
    let end!: () => void;
    const ended = new Promise<void>((resolve) => (end = resolve));
    let late!: Promise<PromiseSettledResult<unknown>[]>;
    const transaction = database.transaction(async () => {
      await repository.insert(row());
      late = ended.then(() =>
        Promise.allSettled([
          repository.insert(row()),
          repository.save(row()),
          repository.find(),
          repository.createQueryBuilder().update().set({ name: 'x' }).where('TRUE').execute(),
          manager.query('DELETE FROM items'),
          manager.transaction((inner) => inner.insert(Item, row())),
          database.transaction(() => repository.insert(row())),
          lists.insert(repository, { name: 'late', description: null }),
        ]),
      );
      if (failure) {
        throw failure;
      }
    });
    await (failure ? expect(transaction).rejects.toBe(failure) : transaction);
    const before = await repository.count();
    end();
    const reasons = (await late).map((outcome) => (outcome.status === 'rejected' ? String(outcome.reason) : 'fulfilled'));
    for (const reason of reasons) {
      expect(reason).toMatch(/^QueryRunner(?:Provider)?AlreadyReleasedError: /);
    }
    expect(await repository.count()).toBe(before);
    expect((await service.api.create({ name: 'next' })).status).toBe(201);
  });
});
