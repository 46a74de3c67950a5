import { Controller, Get, Module, Query } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { ApiProperty } from '@nestjs/swagger';
import { plainToInstance } from 'class-transformer';
import { Column, DeleteDateColumn, Entity, type EntityManager, PrimaryColumn, DataSource, Repository } from 'typeorm';
import { v7 } from 'uuid';
import { AppModule } from '../src/app.module.js';
import { Item } from '../src/items/item.entity.js';
import {
  Database,
  defineFilter,
  Lists,
  MigrationsModule,
  mapPage,
  newId,
  Operation,
  type Page,
  PageOf,
  PageQueryOf,
  RequireScopes,
  Section,
  SqlMigration,
} from '../src/platform/index.js';
import type { ProblemBody } from './support/api.js';
import { type Service, startService } from './support/service.js';

// What another team writes to have its own list, of an entity whose rows are hidden instead of deleted.

@Entity('notes')
class Note {
  @PrimaryColumn('uuid')
  declare id: string;

  @Column('text', { name: 'note_title' })
  declare title: string;

  @DeleteDateColumn({ type: 'timestamptz', name: 'hidden_at' })
  declare hiddenAt: Date | null;
}

class CreateNotes1767225700000 extends SqlMigration {
  readonly statements = ['CREATE TABLE notes (id uuid PRIMARY KEY, note_title text NOT NULL, hidden_at timestamptz)'];
}

class NotesQuery extends PageQueryOf(
  defineFilter(
    Note,
    { title: { type: 'string', unindexed: 'the notes are few' }, written: { type: 'creationTime' } },
    { 'About bells': 'title.contains("bell")' },
  ),
) {}

class NoteDto {
  @ApiProperty({ type: String, description: 'Title of the note.', example: 'Bells' })
  declare readonly title: string;
}

class NotePage extends PageOf(NoteDto) {}

@Section({ title: 'Notes', description: 'What the tests call.' })
@Controller('notes')
@RequireScopes('notes')
class NotesController {
  constructor(
    @InjectRepository(Note) private readonly notes: Repository<Note>,
    private readonly lists: Lists,
  ) {}

  @Get()
  @Operation({ summary: 'List notes', response: NotePage, responseDescription: 'One page of notes.' })
  async listNotes(@Query() query: NotesQuery): Promise<Page<NoteDto>> {
    return mapPage(await this.lists.findPage(this.notes, query), ({ title }) => ({ title }));
  }
}

@Module({
  imports: [AppModule, TypeOrmModule.forFeature([Note]), MigrationsModule.forFeature([CreateNotes1767225700000])],
  controllers: [NotesController],
})
class NotesModule {}

let service: Service;

beforeAll(async () => {
  service = await startService({}, undefined, NotesModule);
  const notes = Array.from({ length: 30 }, (_, number) => ({
    id: v7({ msecs: Date.parse('2026-01-01T00:00:00Z') + number * 1000 }),
    title: `bell ${number}`,
    // The newest of them, and others here and there.
    hiddenAt: number >= 25 || number % 7 === 0 ? new Date() : null,
  }));
  await service.app.get(DataSource).getRepository(Note).insert(notes);
});

afterAll(() => service.stop());

const listNotes = <Body = Page<NoteDto>>(query: Record<string, string>) =>
  service.api.call<Body>('GET', `/v1/notes?${new URLSearchParams(query).toString()}`);

const SHOWN = Array.from({ length: 25 }, (_, number) => number)
  .filter((number) => number % 7 !== 0)
  .toReversed();

it.each([
  ['without a filter', undefined],
  ['with one of the title', 'title.contains("bell")'],
  ['with one of the time', 'written >= timestamp("2026-01-01T00:00:00Z")'],
  ['with several times', 'written < timestamp("2026-01-01T00:00:10Z") || written >= timestamp("2026-01-01T00:00:10Z")'],
])('lists all that is not hidden, page by page, %s', async (_case, filter) => {
  const titles: string[] = [];
  let cursor: string | undefined;
  do {
    const { body } = await listNotes({ limit: '4', ...(filter && { filter }), ...(cursor && { cursor }) });
    titles.push(...body.items.map(({ title }) => title));
    cursor = body.nextCursor;
  } while (cursor);
  expect(titles).toEqual(SHOWN.map((number) => `bell ${number}`));
});

it('refuses what this list cannot be filtered by', async () => {
  const { status, body } = await listNotes<ProblemBody>({ filter: 'name == "x"' });
  expect(status).toBe(400);
  expect(body.errors?.[0]?.detail).toBe('has the unknown field name: there are title, written');
});

it('is filtered within a transaction of TypeORM, also where that has the only connection', async () => {
  const query = plainToInstance(NotesQuery, { filter: 'title.contains("bell")' });
  const read = (manager: EntityManager) => service.app.get(Lists).findPage(manager.getRepository(Note), query);
  const { manager } = service.app.get(DataSource);
  const [first] = (await read(manager)).items;
  Object.assign(query, { cursor: 'ffffffff-ffff-7fff-bfff-ffffffffffff' });
  expect((await manager.transaction(read)).items[0]).toEqual(first);
});

describe('what still runs when its transaction has ended', () => {
  it.each([
    ['committed', undefined],
    ['rolled back', new Error('rolled back')],
  ])('writes nothing and gets an error that says why: %s', async (_name, failure) => {
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
          lists.add(repository, { name: 'late', description: null }),
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
