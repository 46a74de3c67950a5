import { Injectable, Module } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import {
  AfterLoad,
  BaseEntity,
  BeforeInsert,
  ChildEntity,
  Column,
  DataSource,
  Entity,
  EntitySchema,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  Repository,
  TableInheritance,
  Tree,
  TreeChildren,
  TreeParent,
  TreeRepository,
  VersionColumn,
  VirtualColumn,
} from 'typeorm';
import { asProblem } from '../src/platform/database/as-problem.js';
import { Database, Lists, MigrationsModule, newId, SqlMigration } from '../src/platform/index.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { startService } from './support/service.js';
import { useService } from './support/use-service.js';

// Entities of TypeORM's documentation that have more than columns.

@Entity('contents')
@TableInheritance({ column: { type: 'text', name: 'kind' } })
class Content {
  @PrimaryColumn('uuid') declare id: string;
  @Column('text') declare title: string;
}

@ChildEntity()
class Photo extends Content {
  @Column('text', { nullable: true }) declare size: string | null;
}

@ChildEntity()
class Post extends Content {}

@ChildEntity()
class Advertisement extends Post {}

@Entity('slugged')
class Slugged {
  @PrimaryColumn('uuid') declare id: string;
  @Column('text') declare title: string;
  @Column('text') declare slug: string;

  @BeforeInsert()
  slugify(): void {
    this.slug = this.title.toLowerCase().replaceAll(' ', '-');
  }
}

@Entity('users')
class User extends BaseEntity {
  @PrimaryGeneratedColumn() declare id: number;
}

@Entity('branches')
@Tree('closure-table')
class Branch {
  @PrimaryGeneratedColumn() declare id: number;
  @TreeChildren() declare children: Relation<Branch>[];
  @TreeParent() declare parent: Relation<Branch> | null;
}

@Entity('letters')
class Letter {
  @PrimaryColumn('uuid') declare id: string;
  @Column('text') declare text: string;
  @VersionColumn() declare version: number;
  @ManyToOne(() => Branch, { eager: true, nullable: true }) declare branch: Relation<Branch> | null;
  @VirtualColumn({ query: (alias) => `SELECT length(${alias}.text)` }) declare length: number;
  declare initial: string;

  @AfterLoad()
  capitalize(): void {
    this.initial = this.text.slice(0, 1).toUpperCase();
  }
}

interface Label {
  id: string;
  text: string;
}

const LabelSchema = new EntitySchema<Label>({
  name: 'label',
  tableName: 'labels',
  columns: { id: { type: 'uuid', primary: true }, text: { type: 'text' } },
});

@Entity('reports')
class Report {
  @PrimaryColumn('uuid') declare id: string;
  @Column('jsonb') declare data: object;
}

class CreateKinds1795219200001 extends SqlMigration {
  readonly statements = [
    'CREATE TABLE contents (id uuid PRIMARY KEY, kind text NOT NULL, title text NOT NULL, size text)',
    'CREATE TABLE slugged (id uuid PRIMARY KEY, title text NOT NULL, slug text NOT NULL)',
    'CREATE TABLE users (id serial PRIMARY KEY)',
    'CREATE TABLE branches (id serial PRIMARY KEY, "parentId" int REFERENCES branches)',
    'CREATE TABLE branches_closure (id_ancestor int REFERENCES branches, id_descendant int REFERENCES branches, PRIMARY KEY (id_ancestor, id_descendant))',
    'CREATE TABLE letters (id uuid PRIMARY KEY, text text NOT NULL, version int NOT NULL, "branchId" int REFERENCES branches)',
    'CREATE TABLE reports (id uuid PRIMARY KEY, data jsonb NOT NULL)',
    'CREATE TABLE labels (id uuid PRIMARY KEY, text text NOT NULL)',
  ];
}

@Injectable()
class Kinds {
  constructor(
    readonly lists: Lists,
    @InjectRepository(Content) readonly contents: Repository<Content>,
    @InjectRepository(Photo) readonly photos: Repository<Photo>,
    @InjectRepository(Post) readonly posts: Repository<Post>,
    @InjectRepository(Advertisement) readonly advertisements: Repository<Advertisement>,
    @InjectRepository(Slugged) readonly slugged: Repository<Slugged>,
    @InjectRepository(Branch) readonly branches: TreeRepository<Branch>,
    @InjectRepository(Letter) readonly letters: Repository<Letter>,
    @InjectRepository(Report) readonly reports: Repository<Report>,
    @InjectRepository(LabelSchema) readonly labels: Repository<Label>,
  ) {}
}

@Module({
  imports: [
    PlatformModule,
    TypeOrmModule.forFeature([Content, Photo, Post, Advertisement, Slugged, User, Branch, Letter, Report, LabelSchema]),
    MigrationsModule.forFeature([CreateKinds1795219200001]),
  ],
  providers: [Kinds],
})
class KindsModule {}

const service = useService(() => startService({}, undefined, KindsModule));
let kinds: Kinds;

beforeAll(() => {
  kinds = service.app.get(Kinds);
});

async function firstTitles<Row extends Content>(repository: Repository<Row>): Promise<string[]> {
  return (await kinds.lists.findPage(repository, { limit: 2 })).items.map(({ title }) => title);
}

it('lists the rows of one class in a table of several, also of the classes below it', async () => {
  const { lists, advertisements, contents, photos, posts } = kinds;
  await lists.insert(photos, { title: 'a photo' });
  await lists.insert(advertisements, { title: 'an advertisement' });
  await lists.insert(posts, { title: 'a post' });
  await lists.insert(posts, { title: 'another post' });
  expect(await firstTitles(photos)).toEqual(['a photo']);
  expect(await firstTitles(advertisements)).toEqual(['an advertisement']);
  expect(await firstTitles(posts)).toEqual(['another post', 'a post']);
  expect(await firstTitles(contents)).toEqual(['another post', 'a post']);
  const all = await kinds.lists.findPage(posts, { limit: 10 });
  expect(all.items.map(({ constructor }) => constructor.name)).toEqual(['Post', 'Post', 'Advertisement']);
  const refused = expect(lists.findPage(photos, { limit: 2 }, { where: { title: 'a photo' } })).rejects;
  await refused.toThrow('Photo shares its table with other entities: list an entity with its own table.');
});

it('calls the listeners of an entity when its row is inserted [insert-listeners]', async () => {
  const { id, slug } = await kinds.lists.insert(kinds.slugged, { title: 'Hello World', slug: '' });
  expect(slug).toBe('hello-world');
  expect(await kinds.slugged.findOneBy({ id })).toMatchObject({ slug });
});

it('inserts rows at once, except one that has no JSON', async () => {
  const { lists, reports } = kinds;
  const outcomes = await Promise.allSettled([1, 2n, 3].map((count) => lists.insert(reports, { data: { count } })));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(await reports.find({ order: { id: 'ASC' } })).toMatchObject([{ data: { count: 1 } }, { data: { count: 3 } }]);
});

it('injects a repository of trees for a tree', async () => {
  const { branches } = kinds;
  const root = await branches.save(branches.create({}));
  await branches.save(branches.create({ parent: root }));
  expect(await branches.findDescendants(root)).toHaveLength(2);
});

it('returns a changed entity as TypeORM reads it, with what is more than its row', async () => {
  const { branches, letters, lists } = kinds;
  const branch = await branches.save(branches.create({}));
  const { id } = await letters.save(letters.create({ id: newId(), text: 'one', branch }));
  const changed = await lists.update(letters, id, { text: 'three' });
  expect(changed).toEqual(await letters.findOneByOrFail({ id }));
  expect(changed).toMatchObject({ text: 'three', version: 2, length: 5, initial: 'T', branch: { id: branch.id } });
});

it('lists the rows of a schema without a class', async () => {
  const { id } = await kinds.lists.insert(kinds.labels, { text: 'x' });
  expect((await kinds.lists.findPage(kinds.labels, { limit: 2 })).items).toEqual([{ id, text: 'x' }]);
});

it('refuses lists of another data source, whose reads would have no limits', async () => {
  const other = new DataSource({ type: 'postgres', entities: [LabelSchema] });
  await (other as unknown as { buildMetadatas: () => Promise<void> }).buildMetadatas();
  const labels = other.getRepository(LabelSchema);
  const refused = 'The repository of label is of another data source';
  await expect(kinds.lists.findPage(labels, { limit: 2 })).rejects.toThrow(refused);
  await expect(kinds.lists.insert(labels, { text: 'x' })).rejects.toThrow(refused);
});

it('tells subscribers of a rollback, as of a commit', async () => {
  const told: string[] = [];
  const dataSource = service.app.get(DataSource);
  const events = ['beforeTransactionRollback', 'afterTransactionRollback', 'afterTransactionCommit'] as const;
  dataSource.subscribers.push(Object.fromEntries(events.map((event) => [event, () => void told.push(event)])));
  const database = service.app.get(Database);
  await database.transaction(() => User.count());
  const failed = database.transaction(async () => {
    await User.count();
    throw new Error('undone');
  });
  await expect(failed).rejects.toThrow('undone');
  await User.count();
  dataSource.subscribers.pop();
  expect(told).toEqual(['afterTransactionCommit', 'beforeTransactionRollback', 'afterTransactionRollback']);
});

it('are unavailable with Active Record until the database has been there', async () => {
  class Early extends BaseEntity {}
  const problem = asProblem(await Promise.try(() => Early.count()).catch((error: unknown) => error));
  expect(problem.type.status).toBe(503);
});

it('saves entities with Active Record, also in the process that applied the migrations', async () => {
  await User.create().save();
  const undone = service.app.get(Database).transaction(async () => {
    await User.create().save();
    throw new Error('undone');
  });
  await expect(undone).rejects.toThrow('undone');
  expect(await User.count()).toBe(1);
});
