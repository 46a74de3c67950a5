import { jest } from '@jest/globals';
import {
  Body,
  Controller,
  Delete,
  Get,
  Logger,
  Module,
  Param,
  ParseEnumPipe,
  ParseUUIDPipe,
  Post,
  Put,
} from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { IsInt, IsOptional, IsString } from 'class-validator';
import type { DatabaseError } from 'pg';
import { Column, Entity, PrimaryColumn, Repository, VersionColumn } from 'typeorm';
import { ItemsModule } from '../src/items/items.module.js';
import { poolOf } from '../src/platform/database/app-data-source.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import {
  conflict,
  defineProblemType,
  MigrationsModule,
  newId,
  Operation,
  Problem,
  Public,
  RequireScopes,
  SqlMigration,
  Uuid,
} from '../src/platform/index.js';
import { startService } from './support/service.js';
import { useService } from './support/use-service.js';

class Author {
  @Column('text', { name: 'full_name' })
  declare name: string;
}

@Entity('drafts')
class Draft {
  @PrimaryColumn('uuid')
  declare id: string;

  @Column('text', { name: 'draft_title' })
  declare title: string;

  @Column(() => Author, { prefix: 'author' })
  declare author: Author;

  @VersionColumn()
  declare version: number;
}

class CreateDrafts1767225700001 extends SqlMigration {
  readonly statements = [
    `CREATE TABLE drafts (
      id uuid PRIMARY KEY, draft_title text NOT NULL, "authorFull_name" text NOT NULL, version integer NOT NULL
    )`,
    'CREATE TABLE draft_marks (draft_mark varchar(9) NOT NULL, CONSTRAINT draft_mark_once UNIQUE (draft_mark))',
    'CREATE TABLE draft_notes (draft uuid REFERENCES drafts ON DELETE RESTRICT)',
  ];
}

class DraftDto {
  @IsOptional()
  @IsString()
  readonly title?: string | null;

  @IsOptional()
  @IsString()
  readonly author?: string | null;
}

class CreatedDto {
  @Uuid({ description: 'The draft.', example: '019b76da-a800-7000-8000-000000000000' })
  declare id: string;
}

class VersionDto {
  @IsInt()
  declare readonly version: number;
}

const upsideDown = defineProblemType({ name: 'upside-down', status: 500, title: 'Upside down', remedy: 'Turn it.' });

const marked = defineProblemType({
  name: 'marked',
  status: 409,
  title: 'Marked',
  remedy: 'The mark exists.',
  constraint: 'draft_mark_once',
});

/** As Prisma 7 with `@prisma/adapter-pg` throws it. */
function prismaError(
  code: string,
  { code: originalCode, message: originalMessage, constraint: index }: Partial<DatabaseError> = {},
) {
  const cause = { originalCode, originalMessage, ...(index !== undefined && { constraint: { index } }) };
  const meta = originalCode === undefined ? {} : { driverAdapterError: { cause } };
  return Object.assign(new Error('Invalid invocation'), { name: 'PrismaClientKnownRequestError', code, meta });
}

@Controller('drafts')
@RequireScopes('drafts')
class DraftsController {
  constructor(@InjectRepository(Draft) private readonly drafts: Repository<Draft>) {}

  @Post()
  @Operation({ summary: 'Create', response: CreatedDto, status: 201 })
  async create(@Body() { title, author }: DraftDto): Promise<{ id: string }> {
    const { id } = await this.drafts.save({ id: newId(), title, author: { name: author } } as Draft);
    return { id };
  }

  @Post('marks')
  @Operation({ summary: 'Mark' })
  async mark(): Promise<void> {
    await this.drafts.query('INSERT INTO draft_marks VALUES ($1)', [null]);
  }

  /** By a library beside TypeORM: `drizzle` and `prisma` wrap errors, others throw those of `pg`. */
  @Post('marks/:library')
  @Operation({ summary: 'Mark by another library', problems: [conflict, marked] })
  async markOtherwise(@Param('library') library: string, @Body() { title }: DraftDto): Promise<void> {
    const query = 'INSERT INTO draft_marks VALUES ($1)';
    await poolOf(this.drafts.manager.dataSource)
      .query(query, [title])
      .catch((cause: DatabaseError) => {
        if (library === 'prisma') throw prismaError('P2010', cause);
        throw library === 'drizzle' ? Object.assign(new Error(`Failed: ${title}`, { cause }), { query }) : cause;
      });
  }

  @Get('raced/:state')
  @Operation({ summary: 'Lose a race' })
  async race(
    @Param('state', new ParseEnumPipe(['40001', '40P01', '55P03', '25P03', '25P04'])) state: string,
  ): Promise<void> {
    await this.drafts.query(`DO $$ BEGIN RAISE SQLSTATE '${state}'; END $$`);
  }

  @Put(':id')
  @Operation({ summary: 'Replace', problems: [conflict] })
  async replace(@Param('id', ParseUUIDPipe) id: string, @Body() { version }: VersionDto): Promise<void> {
    await this.drafts.findOneOrFail({ where: { id }, lock: { mode: 'optimistic', version } });
  }

  @Delete(':id')
  @Operation({ summary: 'Remove, with a note that keeps it', problems: [conflict] })
  async remove(@Param('id', ParseUUIDPipe) id: string): Promise<void> {
    await this.drafts.query('INSERT INTO draft_notes VALUES ($1)', [id]);
    await this.drafts.delete(id);
  }

  @Get('broken/:kind')
  @Operation({ summary: 'Break', problems: [upsideDown] })
  break(@Param('kind') kind: string): void {
    throw new Problem(upsideDown, 'The draft is upside down.', kind === 'caused' ? { cause: new Error('gravity') } : {});
  }
}

/** As of `http-errors`, which a library uses, and what is thrown in their form, as the error of another service. */
const ERRORS: Readonly<Record<string, object>> = {
  shown: Object.assign(new Error('Gone fishing.'), { expose: true, status: 410, statusCode: 410 }),
  hidden: Object.assign(new Error('secret'), { expose: false, status: 404, statusCode: 404 }),
  busy: Object.assign(new Error('secret'), { expose: false, status: 503, statusCode: 503 }),
  object: { statusCode: 422, message: 'Too small.' },
  broken: { statusCode: 502, message: 'secret' },
  other: Object.assign(new Error('secret'), { statusCode: 401 }),
  wordless: { statusCode: 404 },
  success: { statusCode: 200, message: 'secret' },
  missing: prismaError('P2025'),
  unreachable: prismaError('P1001'),
  wrong: prismaError('P2009'),
};

@ApiExcludeController()
@Public()
@Controller('drafts/thrown')
class ThrowingController {
  @Get(':kind')
  throw(@Param('kind') kind: string): void {
    throw ERRORS[kind] as Error;
  }
}

@Module({
  imports: [
    PlatformModule,
    ItemsModule,
    TypeOrmModule.forFeature([Draft]),
    MigrationsModule.forFeature([CreateDrafts1767225700001]),
  ],
  controllers: [DraftsController, ThrowingController],
})
class DraftsModule {}

const service = useService(() => startService({}, undefined, DraftsModule));

interface Problematic {
  readonly id: string;
  readonly status: number;
  readonly type: string;
  readonly detail: string;
  readonly errors?: readonly object[];
}

const call = async (method: string, path: string, body?: object) =>
  (await service.api.callWith<Problematic>(method, `/v1/drafts${path}`, body)).body;

it('a row that findOneOrFail does not find is 404, and names neither table nor criteria [database-errors-mapped]', async () => {
  const { status, type, detail } = await call('PUT', `/${newId()}`, { version: 1 });
  expect([status, type, detail]).toEqual([404, '/docs/problems#not-found', 'The resource does not exist.']);
});

it.each(['40001', '40P01', '55P03'])(
  'a race that a transaction lost (%s) is 503 [database-errors-mapped]',
  async (state) => {
    const { status, detail } = await call('GET', `/raced/${state}`);
    expect([status, detail]).toEqual([503, 'A concurrent request has locked or changed the same data: retry.']);
  },
);

it.each(['25P03', '25P04'])(
  'a time limit of the server for transactions (%s) is 503 [database-errors-mapped]',
  async (state) => {
    const { status, detail } = await call('GET', `/raced/${state}`);
    expect([status, detail]).toEqual([503, 'The database is not available.']);
  },
);

it('a version that has changed is 409 [database-errors-mapped]', async () => {
  const { id } = await call('POST', '', { title: 'a', author: 'b' });
  expect(await call('PUT', `/${id}`, { version: 1 })).toBeUndefined();
  const { status, type, detail } = await call('PUT', `/${id}`, { version: 2 });
  expect([status, type]).toEqual([409, '/docs/problems#conflict']);
  expect(detail).toBe('The resource has another version: read it again and retry.');
});

it('a row in use, which ON DELETE RESTRICT keeps, is 409 on every version of PostgreSQL [database-errors-mapped]', async () => {
  const { id } = await call('POST', '', { title: 'a', author: 'b' });
  const { status, type } = await call('DELETE', `/${id}`);
  expect([status, type]).toEqual([409, '/docs/problems#conflict']);
});

it.each([
  ['', { author: 'b' }, '/title'],
  ['', { title: null, author: 'b' }, '/title'],
  ['', { title: 'a', author: null }, '/author/name'],
  ['/marks', {}, '/draft_mark'],
])(
  'null in a column that is not null is 400 and names the property: POST %s %j [database-errors-mapped]',
  async (path, body, pointer) => {
    const { status, type, detail, errors } = await call('POST', path, body);
    expect([status, type, detail]).toEqual([400, '/docs/problems#invalid-value', `${pointer} is missing or null.`]);
    expect(errors).toEqual([{ pointer, code: 'required', detail: 'is missing or null' }]);
  },
);

it.each(['drizzle', 'knex', 'prisma'])(
  'an error of a statement that another library has sent is the same problem: %s [database-errors-mapped]',
  async (library) => {
    const log = [jest.spyOn(Logger.prototype, 'warn'), jest.spyOn(Logger.prototype, 'error')];
    log.forEach((spy) => spy.mockReturnValue());
    const types: string[] = [];
    for (const title of [library, library, null, 'a secret too long']) {
      types.push((await call('POST', `/marks/${library}`, { title }))?.type);
    }
    expect(types).toEqual([
      undefined,
      ...['marked', 'invalid-value', 'invalid-value'].map((name) => `/docs/problems#${name}`),
    ]);
    expect(JSON.stringify(log.map(({ mock }) => mock.calls))).not.toContain('secret');
    log.forEach((spy) => spy.mockRestore());
  },
);

it.each([
  ['caused', 'gravity'],
  ['alone', 'The draft is upside down.'],
])("a feature's problem of status 500 is logged once as an error, with its cause or itself: %s", async (kind, message) => {
  const log = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
  const { status, detail } = await call('GET', `/broken/${kind}`);
  expect([status, detail]).toEqual([500, 'The draft is upside down.']);
  const stack = expect.stringMatching(/feature-errors/);
  expect(log.mock.calls).toEqual([[{ msg: 'request failed', err: expect.objectContaining({ message, stack }) }]]);
  log.mockRestore();
});

it.each([
  ['shown', 410, 'Gone fishing.'],
  ['hidden', 404, 'Not found'],
  ['busy', 503, 'The service failed.'],
  ['object', 422, 'Too small.'],
  ['broken', 502, 'The service failed.'],
  ['other', 500, 'The service failed.'],
  ['success', 500, 'The service failed.'],
  ['wordless', 500, 'The service failed.'],
])('an error in the form of http-errors has its status, as in Nest: %s', async (kind, status, detail) => {
  expect(await call('GET', `/thrown/${kind}`)).toMatchObject({ status, detail });
});

it.each([
  ['missing', 404, 'The resource does not exist.'],
  ['unreachable', 503, 'The database is not available.'],
  ['wrong', 500, 'The service failed.'],
])('an error of Prisma without a statement has its status: %s [database-errors-mapped]', async (kind, status, detail) => {
  expect(await call('GET', `/thrown/${kind}`)).toMatchObject({ status, detail });
});
