import { jest } from '@jest/globals';
import { Body, Controller, Delete, Get, HttpStatus, Module, Param, Patch, Post, Put } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import {
  Column,
  DeleteDateColumn,
  Entity,
  ManyToOne,
  PrimaryColumn,
  Repository,
  UpdateDateColumn,
  VersionColumn,
} from 'typeorm';
import { ItemsModule } from '../src/items/items.module.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { DatabaseMetrics } from '../src/platform/database/database-metrics.js';
import {
  Database,
  Etag,
  etagOf,
  Idempotent,
  IfMatch,
  Lists,
  MigrationsModule,
  newId,
  notFound,
  Operation,
  type Precondition,
  Problem,
  RequireScopes,
  SqlMigration,
  Text,
  Uuid,
} from '../src/platform/index.js';
import { WidgetsModule } from './fixtures/widgets/widgets.module.js';
import type { Answer } from './support/api.js';
import { changeInPairs, type Widget } from './support/change-in-pairs.js';
import { Contract } from './support/contract.js';
import { request, sendRaw } from './support/raw-http.js';
import { startService } from './support/service.js';
import { useService } from './support/use-service.js';

class Author {
  @Column('text', { name: 'full_name' }) declare name: string;
}

@Entity('plain_essays')
class PlainEssay {
  @PrimaryColumn('uuid') declare id: string;
  @Column('integer') declare version: number;
}

// An entity of which TypeORM reads the rows, with a response class of its own, and routes in the other order of decorators.

@Entity('essays')
class Essay {
  @PrimaryColumn('uuid') declare id: string;
  @Column('text', {
    name: 'essay_title',
    transformer: { to: (text?: string) => text && `<${text}>`, from: (text: string) => text.slice(1, -1) },
  })
  declare title: string;
  @Column(() => Author, { prefix: 'author' }) declare author: Author;
  @Column('text', { select: false }) declare secret: string;
  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' }) declare updatedAt: Date;
  @VersionColumn({ name: 'essay_version' }) declare version: number;
  @DeleteDateColumn({ name: 'withdrawn_at', type: 'timestamptz' }) declare withdrawnAt?: Date | null | undefined;
  @ManyToOne(() => PlainEssay) declare draft?: PlainEssay | null | undefined;
}

class CreateEssays1767225700009 extends SqlMigration {
  readonly statements = [
    `CREATE TABLE essays (
      id uuid PRIMARY KEY, essay_title text NOT NULL, "authorFull_name" text NOT NULL, secret text NOT NULL,
      updated_at timestamptz NOT NULL DEFAULT now(), essay_version integer NOT NULL, withdrawn_at timestamptz,
      "draftId" uuid
    )`,
    'CREATE TABLE plain_essays (id uuid PRIMARY KEY, version integer NOT NULL)',
  ];
}

class EssayPath {
  @Uuid({ description: 'Of an essay.', example: '0190163d-8694-739b-aea5-966c26f8ad91' }) declare readonly id: string;
}

class NewEssay {
  @Text({ description: 'Above it.', example: 'Walking', maximumLength: 50 }) declare readonly title: string;
}

class EssayDto {
  @ApiProperty({ type: String }) declare readonly title: string;
  @ApiProperty({ type: String }) declare readonly author: string;
  @Etag() declare readonly etag: string;

  static of(this: void, essay: Essay): EssayDto {
    return { title: essay.title, author: essay.author.name, etag: etagOf(essay) };
  }
}

@Controller('essays')
@RequireScopes('essays')
class EssaysController {
  constructor(
    @InjectRepository(Essay) private readonly essays: Repository<Essay>,
    @InjectRepository(PlainEssay) private readonly plainEssays: Repository<PlainEssay>,
    private readonly lists: Lists,
    private readonly database: Database,
  ) {}

  @Get()
  @Operation({ summary: 'List essays', response: [EssayDto] })
  async listEssays(): Promise<EssayDto[]> {
    return (await this.essays.find()).map(EssayDto.of);
  }

  @Operation({ summary: 'Write an essay', response: EssayDto, status: HttpStatus.CREATED })
  @Idempotent()
  @Post()
  async writeEssay(@Body() { title }: NewEssay): Promise<EssayDto> {
    const values = { title, author: { name: 'Thoreau' }, secret: 'x', updatedAt: new Date() };
    return EssayDto.of(await this.lists.insert(this.essays, values));
  }

  @Operation({ summary: 'Rewrite an essay', response: EssayDto })
  @Idempotent()
  @Put(':id')
  async rewriteEssay(
    @Param() { id }: EssayPath,
    @Body() { title }: NewEssay,
    @IfMatch() given: Precondition,
  ): Promise<EssayDto> {
    const known = await this.essays.findOneBy({ id });
    const changes = { title, author: { name: 'Emerson' }, version: 99, id: newId() };
    const essay = await this.lists.update(this.essays, id, changes, given);
    expect(essay).toBeInstanceOf(Essay);
    expect(essay).toEqual(await this.essays.findOneBy({ id }));
    expect(essay.updatedAt.getTime()).toBeGreaterThan(known?.updatedAt.getTime() ?? Infinity);
    return EssayDto.of(essay);
  }

  /** Changes two rows or none. */
  @Patch(':id')
  @Operation({ summary: 'Rename an essay and write another one', response: EssayDto })
  renameEssay(@Param() { id }: EssayPath, @Body() { title }: NewEssay, @IfMatch() given: Precondition): Promise<EssayDto> {
    return this.database.transaction(async () => {
      await this.writeEssay({ title: `Before ${title}` });
      const essay = await this.lists.update(this.essays, id, { title }, given);
      if (title === 'Refused') throw new Problem(notFound, 'Refused.');
      return EssayDto.of(essay);
    });
  }

  @Delete(':id')
  @Operation({ summary: 'Remove what has no version column', status: HttpStatus.NO_CONTENT })
  removePlainEssay(@Param() { id }: EssayPath, @IfMatch() given: Precondition): Promise<void> {
    return this.lists.remove(this.plainEssays, id, given);
  }
}

@Module({
  imports: [TypeOrmModule.forFeature([Essay, PlainEssay]), MigrationsModule.forFeature([CreateEssays1767225700009])],
  controllers: [EssaysController],
})
class EssaysModule {}

@Module({ imports: [PlatformModule, ItemsModule, WidgetsModule, EssaysModule] })
class OtherTeamsModule {}

const service = useService(() => startService({ RATE_LIMIT: '10000' }, undefined, OtherTeamsModule));

type Method = 'DELETE' | 'GET' | 'HEAD' | 'PATCH';
let names = 0;

async function newWidget(): Promise<Widget & { path: string }> {
  names += 1;
  const { body } = await service.api.callWith<Widget>('POST', '/v1/widgets', {
    name: `Widget ${names}`,
    price: 0,
    size: 'small',
  });
  return { ...body, path: `/v1/widgets/${body.id}` };
}

function call(method: Method, path: string, headers: Record<string, string>): Promise<Answer<Widget>> {
  return method === 'PATCH'
    ? service.api.callWith<Widget>(method, path, { price: 7 }, headers)
    : service.api.call<Widget>(method, path, { headers });
}

/** Conditions on a row whose tag is `*tag*`, and the status of a GET and of a change. */
it.each<[name: 'If-Match' | 'If-None-Match', value: string, read: number, change: number]>([
  ['If-Match', 'TAG', 200, 200],
  ['If-Match', '*', 200, 200],
  ['If-Match', '"a,b", TAG', 200, 200],
  ['If-Match', ', ,"x",,TAG , ', 200, 200],
  ['If-Match', '"x"\t,\tTAG', 200, 200],
  ['If-Match', '"\u0080\u00ff!#~", W/"x", TAG', 200, 200],
  ['If-Match', 'W/TAG', 412, 412],
  ['If-Match', '"x"', 412, 412],
  ['If-Match', '""', 412, 412],
  ['If-Match', ',', 412, 412],
  ['If-Match', '"*"', 412, 412],
  ['If-Match', 'FORGED99999999999999999999', 412, 412],
  ['If-Match', 'FORGED0', 412, 412],
  ['If-Match', 'FORGED01', 412, 412],
  ['If-Match', 'FORGED-1', 412, 412],
  ['If-Match', 'OTHER', 412, 412],
  ['If-None-Match', 'TAG', 304, 412],
  ['If-None-Match', 'W/TAG', 304, 412],
  ['If-None-Match', '"x",\tW/TAG', 304, 412],
  ['If-None-Match', '*', 304, 412],
  ['If-None-Match', '"x", W/"y"', 200, 200],
  ['If-None-Match', ',', 200, 200],
  ['If-None-Match', 'OTHER', 200, 200],
  ['If-None-Match', 'FORGED99999999999999999999', 200, 200],
])(
  'compares %s: %s as RFC 9110 says: a read is a %d, a change a %d [etag-conditions]',
  async (name, value, read, change) => {
    const [{ path, etag, id }, other] = await Promise.all([newWidget(), newWidget()]);
    const forge = (_match: string, version: string) => etag.replace(/^"1/, `"${version}`);
    const sent = value
      .replace('TAG', etag)
      .replace('OTHER', other.etag)
      .replace(/FORGED(\S+)/, forge);
    const got = await call('GET', path, { [name]: sent });
    expect([got.status, got.headers.get('ETag')]).toEqual([read, read === 412 ? null : etag]);
    expect(got.body).toEqual(read === 304 ? undefined : expect.objectContaining(read === 200 ? { id } : { status: 412 }));
    expect((await call('HEAD', path, { [name]: sent })).status).toBe(read);
    expect((await call('GET', path, { [name]: sent, 'Cache-Control': 'no-cache' })).status).toBe(read);
    const changed = await call('PATCH', path.toUpperCase().replace('/V1/WIDGETS', '/v1/widgets'), { [name]: sent });
    expect([changed.status, changed.headers.has('ETag')]).toEqual([change, change === 200]);
    const { body } = await call('GET', path, {});
    expect([body.price, body.etag !== etag]).toEqual(change === 200 ? [7, true] : [0, false]);
    const deleted = await call('DELETE', path, { [name]: sent.replace(etag, body.etag) });
    const isGone = change === 200;
    expect([deleted.status, (await call('GET', path, {})).status]).toEqual(isGone ? [204, 404] : [412, 200]);
  },
);

it.each([
  'x',
  '"x',
  'x"',
  '"x" "y"',
  '"x"y',
  'w/"x"',
  'W/ "x"',
  "'x'",
  '*, "x"',
  '"x", *',
  '**',
  '"a b"',
  '"x"; "y"',
  '\u00e9',
])('responds 400 to the condition %j, and changes nothing [etag-malformed]', async (value) => {
  const { path, etag } = await newWidget();
  for (const name of ['If-Match', 'If-None-Match']) {
    for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
      const { status, body } = await call(method, path, { [name]: value });
      const errors = [{ parameter: name, code: 'etag', detail: expect.stringContaining('double quotes') }];
      expect([status, body]).toEqual([400, expect.objectContaining({ type: '/docs/problems#invalid-parameters', errors })]);
    }
  }
  expect((await call('GET', path, {})).body).toMatchObject({ price: 0, etag });
});

it('takes time that grows with the length of a condition', async () => {
  const { path } = await newWidget();
  for (const unit of [' ', '\t,', ',', '"a",', '"', 'W/', '""']) {
    const { status } = await call('GET', path, { 'If-Match': `x${unit.repeat(14_000 / unit.length)}"x"z` });
    expect(status).toBe(400);
  }
});

it('responds 404 or 412 for a row that does not exist [etag-missing]', async () => {
  const path = `/v1/widgets/${newId()}`;
  const statusesWith = async (headers: Record<string, string>) =>
    Promise.all((['GET', 'PATCH', 'DELETE'] as const).map(async (method) => (await call(method, path, headers)).status));
  expect(await statusesWith({})).toEqual([404, 404, 404]);
  expect(await statusesWith({ 'If-Match': '*' })).toEqual([404, 412, 412]);
  expect(await statusesWith({ 'If-Match': '"1-x"' })).toEqual([404, 412, 412]);
  expect(await statusesWith({ 'If-None-Match': '*' })).toEqual([404, 404, 404]);
  expect(await statusesWith({ 'If-None-Match': '"1-x"' })).toEqual([404, 404, 404]);
});

it('joins several lines of a condition', async () => {
  const { id, etag } = await newWidget();
  const { authorization: token } = { authorization: `Authorization: Bearer ${service.api.token}` };
  const get = (...lines: string[]) => sendRaw(service.port, request(`GET /v1/widgets/${id}`, [token, ...lines]), 'silence');
  expect((await get('If-None-Match: "x"', `if-none-match: ${etag}`)).status).toBe(304);
  expect((await get('If-Match: "x"', `If-Match: ${etag}`)).status).toBe(200);
  expect((await get(`If-Match: ${etag}`, 'If-Match: x')).status).toBe(400);
});

it('ignores conditions on the rows of a list, and on its new ones, which need none', async () => {
  for (const headers of [{ 'If-Match': '"x"' }, { 'If-None-Match': '*' }, { 'If-Match': 'x' }]) {
    names += 1;
    const widget = { name: `Widget ${names}`, price: 0, size: 'small' };
    const created = await service.api.callWith<Widget>('POST', '/v1/widgets', widget, headers);
    expect([created.status, created.headers.get('ETag')]).toEqual([201, created.body.etag]);
    const listed = await service.api.call<{ items: Widget[] }>('GET', '/v1/widgets?limit=1', { headers });
    expect([listed.status, listed.headers.get('ETag'), listed.body.items]).toEqual([200, null, [created.body]]);
  }
});

it('lets the last writer win without a condition [last-writer-wins]', async () => {
  const { path } = await newWidget();
  const prices = [1, 2, 3];
  const responses = await Promise.all(prices.map((price) => service.api.callWith<Widget>('PATCH', path, { price })));
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
  const last = responses
    .map(({ body }) => body)
    .toSorted((a, b) => (a.etag < b.etag ? -1 : 1))
    .at(-1);
  expect((await call('GET', path, {})).body).toEqual(last);
  expect(last?.etag).toMatch(/^"4-/);
});

it('never turns a version back, also not for an entity that was read before another change', async () => {
  const { path, id } = await newWidget();
  const widgets = service.app.get<Repository<{ id: string; price: number; version: number }>>('WidgetRepository');
  const stale = await widgets.findOneByOrFail({ id });
  const changed = await call('PATCH', path, {});
  await widgets.save(Object.assign(stale, { price: 8 }));
  expect(stale.version).toBe(3);
  const { body } = await call('GET', path, {});
  expect([body.price, body.etag]).toEqual([8, expect.stringMatching(/^"3-/)]);
  expect((await call('PATCH', path, { 'If-Match': changed.body.etag })).status).toBe(412);
});

it('lets one of two clients change a row, and tells the other one [lost-update]', async () => {
  const { path } = await newWidget();
  await changeInPairs([service.api, await service.newClient()], path, 50);
});

it('compares in the statement that changes the row, which is the only one [lost-update]', async () => {
  const { path, etag } = await newWidget();
  await call('GET', path, {});
  const sent = jest.spyOn(service.app.get(DatabaseMetrics), 'observe');
  const statements = () => sent.mock.calls.splice(0).map(([text]) => text);
  expect((await call('PATCH', path, { 'If-Match': '"x"' })).status).toBe(412);
  expect((await call('PATCH', path, { 'If-Match': etag })).status).toBe(200);
  const update = expect.stringMatching(/^UPDATE "widgets" SET .*"version" = "version" \+ 1 WHERE .*"version"::text = ANY/);
  expect(statements()).toEqual([update, update]);
  expect((await call('DELETE', path, { 'If-Match': etag })).status).toBe(412);
  expect(statements()).toEqual([expect.stringMatching(/^DELETE FROM "widgets" WHERE .*"version"::text = ANY/)]);
  sent.mockRestore();
});

const essaysOf = () => service.app.get<Repository<Essay>>('EssayRepository');

it('sends the tag of a stored response again, though the row has changed [etag-replayed]', async () => {
  for (const [path, body] of Object.entries({
    '/v1/widgets': { name: 'Keyed', price: 0, size: 'small' },
    '/v1/essays': { title: 'Walking' },
  })) {
    const key = newId();
    const create = () => service.api.callWith<Widget>('POST', path, body, { 'Idempotency-Key': key });
    const created = await create();
    expect([created.status, created.headers.get('ETag'), created.body.etag]).toEqual([
      201,
      created.body.etag,
      expect.stringMatching(/^"1-/),
    ]);
    if (path === '/v1/widgets') expect((await call('PATCH', `${path}/${created.body.id}`, {})).status).toBe(200);
    const again = await create();
    expect(again.headers.get('Idempotent-Replayed')).toBe('true');
    expect([again.status, again.body, again.headers.get('ETag')]).toEqual([201, created.body, created.body.etag]);
  }
});

it('repeats a conditional change with its key instead of refusing it', async () => {
  const { body } = await service.api.callWith<EssayDto>('POST', '/v1/essays', { title: 'Nature' });
  const { id } = await essaysOf().findOneByOrFail({ title: 'Nature' });
  const rewrite = (key: string) =>
    service.api.callWith<EssayDto>(
      'PUT',
      `/v1/essays/${id}`,
      { title: 'Art' },
      { 'If-Match': body.etag, 'Idempotency-Key': key },
    );
  const key = newId();
  const rewritten = await rewrite(key);
  expect(rewritten).toMatchObject({
    status: 200,
    body: { title: 'Art', author: 'Emerson', etag: expect.stringMatching(/^"2-/) },
  });
  const again = await rewrite(key);
  expect([again.status, again.body, again.headers.get('ETag')]).toEqual([200, rewritten.body, rewritten.body.etag]);
  expect((await rewrite(newId())).status).toBe(412);
});

it('takes part in a transaction', async () => {
  const { body } = await service.api.callWith<EssayDto>('POST', '/v1/essays', { title: 'Slavery' });
  const essay = await essaysOf().findOneOrFail({ where: { title: 'Slavery' } });
  const rename = (title: string, etag: string) =>
    service.api.callWith<EssayDto>('PATCH', `/v1/essays/${essay.id}`, { title }, { 'If-Match': etag });
  const count = await essaysOf().count();
  expect((await rename('Too late', '"x"')).status).toBe(412);
  expect((await rename('Refused', body.etag)).status).toBe(404);
  expect([await essaysOf().count(), await essaysOf().findOneBy({ id: essay.id })]).toEqual([count, essay]);
  expect((await rename('Renamed', body.etag)).body).toMatchObject({ title: 'Renamed', author: 'Thoreau' });
  expect(await essaysOf().count()).toBe(count + 1);
});

it('needs a version column: says so, whatever the client sends', async () => {
  const id = newId();
  for (const headers of [{}, { 'If-Match': '"x"' }]) {
    expect((await service.api.call('DELETE', `/v1/essays/${id}`, { headers })).status).toBe(500);
  }
  const lists = service.app.get(Lists);
  const repository = service.app.get<Repository<PlainEssay>>('PlainEssayRepository');
  await expect(async () => lists.update(repository, id, {})).rejects.toThrow('PlainEssay.version is not a @VersionColumn()');
  expect(() => Etag()(EssayDto.prototype, 'tag')).toThrow('EssayDto.tag has @Etag(): name the property etag.');
});

it('neither changes nor removes a row that is soft-deleted', async () => {
  const { body } = await service.api.callWith<EssayDto>('POST', '/v1/essays', { title: 'Withdrawn' });
  const { id } = await essaysOf().findOneByOrFail({ title: 'Withdrawn' });
  await essaysOf().softDelete({ id });
  const rename = (headers?: Record<string, string>) =>
    service.api.callWith('PATCH', `/v1/essays/${id}`, { title: 'Back' }, headers);
  expect([(await rename()).status, (await rename({ 'If-Match': body.etag })).status]).toEqual([404, 412]);
  await expect(service.app.get(Lists).remove(essaysOf(), id)).rejects.toMatchObject({ type: { name: 'not-found' } });
  expect(await essaysOf().findOne({ where: { id }, withDeleted: true })).toMatchObject({ title: 'Withdrawn' });
});

it('documents the tag, the conditions and their responses [etag-documented]', async () => {
  const contract = await Contract.read(service.api.origin);
  const path = '/v1/widgets/{id}';
  const described = Object.fromEntries(
    [...['get', 'patch', 'delete'].map((method) => [method, path] as const), ['post', '/v1/widgets'] as const].map(
      ([method, where]) => {
        const { parameters = [], responses } = contract.operation(method, where);
        const conditions = parameters.map(({ name }) => name).filter((name) => name.startsWith('If-'));
        const tagged = Object.keys(responses).filter((status) => 'ETag' in (responses[status]?.headers ?? {}));
        return [method, [conditions, tagged, '412' in responses]];
      },
    ),
  );
  expect(described).toEqual({
    get: [['If-Match', 'If-None-Match'], ['200', '304'], true],
    patch: [['If-Match'], ['200'], true],
    delete: [['If-Match'], [], true],
    post: [[], ['201'], false],
  });
  expect(contract.operation('get', '/v1/widgets').responses['200']?.headers).not.toHaveProperty('ETag');
  expect(contract.operation('patch', path).responses['412']?.description).toBe(
    'Precondition failed (`/docs/problems#precondition-failed`)',
  );
  expect(await (await fetch(`${service.api.origin}/docs/problems`)).text()).toContain('<section id="precondition-failed">');
  expect(
    contract.operations.filter(({ name }) => name.endsWith('/v1/items')).map(({ operation }) => JSON.stringify(operation)),
  ).toEqual([expect.not.stringMatching(/ETag|If-Match|412/), expect.not.stringMatching(/ETag|If-Match|412/)]);
});
