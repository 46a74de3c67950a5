import { createServer } from 'node:http';
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ScheduleModule } from '@nestjs/schedule';
import { DataSource, Entity, PrimaryColumn } from 'typeorm';
import { ItemsModule } from '../src/items/items.module.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { AccessToken } from '../src/platform/auth/access-token.entity.js';
import { AccessTokensService } from '../src/platform/auth/access-tokens.service.js';
import { CoversModule } from './fixtures/covers/covers.module.js';
import { Book } from './fixtures/library/book.entity.js';
import { LibraryModule } from './fixtures/library/library.module.js';
import { Loan } from './fixtures/library/loan.entity.js';
import { WidgetsModule } from './fixtures/widgets/widgets.module.js';
import { Api } from './support/api.js';
import { Contract } from './support/contract.js';
import { IdentityProvider } from './support/identity-provider.js';
import { listen } from './support/listen.js';
import { SamplesModule } from './support/samples.js';
import { startMeasured } from './support/scrape.js';
import { TESTER } from './support/service.js';
import { useService } from './support/use-service.js';

@Module({
  imports: [
    PlatformModule,
    ItemsModule,
    ScheduleModule.forRoot(),
    LibraryModule,
    CoversModule,
    SamplesModule,
    WidgetsModule,
  ],
})
class OtherTeamsModule {}

@Entity('other_books')
class OtherBook {
  @PrimaryColumn() declare id: number;
}
// As the module of another application in this process does.
Object.defineProperty(OtherBook, 'name', { value: Book.name });
TypeOrmModule.forFeature([OtherBook]);

interface Row {
  id: string;
  title: string;
  borrower: string;
}

/** The service of covers. */
const upstream = createServer(({ url }, response) => {
  if (url === '/covers/a%20%26%20b') response.end('https://covers.example/1.png');
  if (url === '/covers/broken') response.writeHead(500).end();
});

let provider: IdentityProvider;

const service = useService(async () => {
  provider = await IdentityProvider.start();
  const COVERS_URL = `http://127.0.0.1:${await listen(upstream)}`;
  return startMeasured(
    { ...provider.environment, AUTH_JWT_DEFAULT_SCOPES: 'library', COVERS_URL, COVERS_TIMEOUT: '0.2' },
    OtherTeamsModule,
  );
});

it('leaves out entities of other applications in this process, also of the same name', () => {
  const tables = service.app.get(DataSource).entityMetadatas.map(({ tableName }) => tableName);
  expect(tables).toContain('books');
  expect(tables).not.toContain('other_books');
});

async function addBook(title: string, copies = 1): Promise<string> {
  return (await service.api.callWith<Row>('POST', '/v1/books', { title, copies })).body.id;
}

async function lend(book: string, borrower: string, api = service.api): Promise<string> {
  return (await api.callWith<Row>('POST', `/v1/books/${book}/loans`, { borrower, days: 7 })).body.id;
}

const walk = (path: string, query = {}, api = service.api) => api.walk<Row>(query, path);

it.each<[string, unknown[], string]>([
  ['count', ['5', 5.5, null, true, [5]], 'type'],
  ['count', [-6, 2_147_483_648, -(2 ** 60)], 'range'],
  ['size', ['tiny', 'Small', '', 5, null, ['small']], 'type'],
  ['sender', ['x', '0190163d8694739baea5966c26f8ad91', 5, null, '0190163d-8694-739b-aea5-966c26f8ad91 '], 'type'],
  ['description', [5, false, {}], 'type'],
  ['description', ['x'.repeat(51)], 'too_long'],
  ['description', ['\0', '\ud800'], 'character'],
])('responds 400 for %s %j of a sample', async (name, values, code) => {
  const sample = { name: 'Bell', count: 5, size: 'small', active: false, sender: '0190163d-8694-739b-aea5-966c26f8ad91' };
  for (const value of values) {
    const { status, body } = await service.api.callWith('POST', '/v1/samples', { ...sample, [name]: value });
    const fault = { pointer: `/${name}`, code, detail: expect.stringMatching(/^must /) };
    expect([value, status, body.errors]).toEqual([value, 400, [fault]]);
  }
});

it.each([
  ['00000000-0000-0000-0000-000000000006', -5],
  ['DEADBEEF-DEAD-FEED-CAFE-DEADBEEFCAFE', 2_147_483_647],
])(
  'accepts a UUID of any version, in lower case from then on, and a number up to its bounds: %s %d',
  async (sender, count) => {
    const sample = { name: 'Whistle', count, size: 'large', active: true, sender };
    const { status, body } = await service.api.callWith<{ id: string }>('POST', '/v1/samples', sample);
    expect([status, body]).toEqual([201, expect.objectContaining({ ...sample, sender: sender.toLowerCase() })]);
    expect(await walk('/v1/samples', { filter: `id == "${body.id}"` })).toEqual([body]);
  },
);

it('responds with a documented problem of the module to a name that is taken [problem-of-constraint]', async () => {
  const create = (headers = {}) =>
    service.api.callWith('POST', '/v1/widgets', { name: 'Taken', price: 1250, size: 'small' }, headers);
  await create();
  const type = '/docs/problems#widget-name-taken';
  const detail = 'Another widget has this name. Choose another one.';
  expect(await create({ 'Idempotency-Key': 'taken' })).toMatchObject({ status: 409, body: { type, detail } });
  expect(await (await fetch(`${service.api.origin}/docs/problems`)).text()).toContain('<section id="widget-name-taken">');
  const { responses } = (await Contract.read(service.api.origin)).operation('post', '/v1/widgets');
  expect(responses['409']?.description).toBe(`Widget name taken (\`${type}\`)`);
});

it('responds with it while `REINDEX CONCURRENTLY` replaces the index [problem-of-constraint]', async () => {
  const dataSource = service.app.get(DataSource);
  const create = () => service.api.callWith('POST', '/v1/widgets', { name: 'Replaced', price: 1, size: 'small' });
  await create();
  await dataSource.query('ALTER INDEX widgets_name_key RENAME TO widgets_name_key_ccold1');
  try {
    expect((await create()).body).toMatchObject({ type: '/docs/problems#widget-name-taken' });
  } finally {
    await dataSource.query('ALTER INDEX widgets_name_key_ccold1 RENAME TO widgets_name_key');
  }
});

describe('the loans of a book', () => {
  it('are listed only under that book, for any input [where-not-widened]', async () => {
    const [one, other] = [await addBook('One', 100), await addBook('Other', 100)];
    for (let number = 0; number < 7; number += 1) await lend(one, `reader ${number}`);
    await lend(other, 'somebody else');
    const newestFirst = [6, 5, 4, 3, 2, 1, 0].map((number) => `reader ${number}`);
    const borrowers = async (query: Record<string, string>) =>
      (await walk(`/v1/books/${one}/loans`, query)).map(({ borrower }) => borrower);
    expect(await borrowers({ limit: '2' })).toEqual(newestFirst);
    for (const filter of ['true', 'true || true', '!(borrower == "x")', 'borrower != "" // )', '!overdue || overdue']) {
      expect([filter, await borrowers({ limit: '3', filter })]).toEqual([filter, newestFirst]);
    }
    expect(await borrowers({ filter: 'borrower == "reader 3"' })).toEqual(['reader 3']);
    expect(await borrowers({ filter: 'borrower == "somebody else"' })).toEqual([]);
    expect(await walk(`/v1/books/${other}/loans`)).toHaveLength(1);
  });

  it('have cursors that no other list accepts [cursor-one-list]', async () => {
    const [one, other] = [await addBook('One', 100), await addBook('Other', 100)];
    for (const book of [one, one, one, other]) await lend(book, 'Ada');
    const { body } = await service.api.list({ limit: '1' }, `/v1/books/${one}/loans`);
    const cursor = body.nextCursor ?? '';
    const fault = expect.objectContaining({ parameter: 'cursor', code: 'cursor' });
    expect((await service.api.call('GET', `/v1/books/${one}/loans?cursor=${cursor}`)).status).toBe(200);
    for (const path of [`/v1/books/${other}/loans`, '/v1/loans', '/v1/books', '/v1/items']) {
      const { status, body: problem } = await service.api.call('GET', `${path}?cursor=${cursor}`);
      expect([path, status, problem.errors]).toEqual([path, 400, [fault]]);
    }
    for (const name of ['a', 'b']) await service.api.create({ name });
    const ofItems = (await service.api.list({ limit: '1' })).body.nextCursor;
    expect((await service.api.call('GET', `/v1/books/${one}/loans?cursor=${ofItems}`)).status).toBe(400);
  });

  it('are written together with the book, or not at all: once for each key, and not beyond its copies [key-concurrent] [transaction-repositories]', async () => {
    const dataSource = service.app.get(DataSource);
    const book = await addBook('Rare', 3);
    const send = (key: string) =>
      service.api.callWith('POST', `/v1/books/${book}/loans`, { borrower: 'Ada', days: 1 }, { 'Idempotency-Key': key });
    const keys = ['a', 'a', 'b', 'b', 'c', 'c', 'd', 'd'];
    const responses = await Promise.all(keys.map((key) => send(`${book}-${key}`)));
    expect(responses.map(({ status }) => status).toSorted()).toEqual([201, 201, 201, 201, 201, 201, 409, 409]);
    expect(responses.find(({ status }) => status === 409)?.body.type).toBe('/docs/problems#all-lent');
    expect(await dataSource.getRepository(Loan).countBy({ bookId: book })).toBe(3);
    expect(await dataSource.getRepository(Book).findOneBy({ id: book })).toMatchObject({ lent: 3 });
  });

  it('keep their book from being removed [foreign-key-conflict]', async () => {
    const [free, lent] = [await addBook('Free'), await addBook('Lent')];
    await lend(lent, 'Ada');
    const remove = async (id: string) => (await service.api.call('DELETE', `/v1/books/${id}`)).status;
    expect([await remove(lent), await remove(free), await remove(free)]).toEqual([409, 204, 404]);
    expect((await service.api.call('GET', `/v1/books/${free}/loans`)).status).toBe(404);
  });
});

it('lists only rows of the caller, also after the token was rotated', async () => {
  const tokens = service.app.get(AccessTokensService);
  const [ada, bob] = [await service.newClient('ada'), await service.newClient('bob')];
  const book = await addBook('Shared', 100);
  const [first, second] = [await lend(book, 'a', ada), await lend(book, 'b', bob)];
  const third = await lend(book, 'c', ada);
  const mine = async (api: Api, query = {}) => (await walk('/v1/loans', { limit: '1', ...query }, api)).map(({ id }) => id);
  expect([await mine(ada), await mine(bob), await mine(await service.newClient())]).toEqual([[third, first], [second], []]);
  expect(await mine(ada, { filter: 'borrower == "b"' })).toEqual([]);
  expect(JSON.stringify(await walk('/v1/loans', {}, ada))).not.toMatch(/created_?by/i);

  const { id = '' } = (await service.app.get(DataSource).getRepository(AccessToken).findOneBy({ name: 'ada' })) ?? {};
  const rotated = new Api(service.api.origin, (await tokens.rotate(id, { overlap: 0 }, TESTER)).token);
  expect(await mine(rotated)).toEqual([third, first]);
  const [alice, again, carol] = await Promise.all(
    [{}, { jti: '2' }, { sub: 'carol' }].map(async (claims) => new Api(service.api.origin, await provider.sign(claims))),
  );
  const fourth = await lend(book, 'd', alice);
  expect([await mine(again ?? ada), await mine(carol ?? ada)]).toEqual([[fourth], []]);
});

it('lists rows by a column of another table, page by page, and a changed value at once [view-listed]', async () => {
  const api = await service.newClient();
  const [emma, other] = [await addBook('Emma', 100), await addBook('Ivanhoe', 100)];
  for (const borrower of ['a', 'b', 'c', 'd', 'e']) await lend(borrower === 'c' ? other : emma, borrower, api);
  await lend(emma, 'somebody else');
  const borrowers = async (filter: string) =>
    (await walk('/v1/loans', { limit: '2', filter }, api)).map(({ borrower }) => borrower);
  expect(await borrowers('title == "Emma"')).toEqual(['e', 'd', 'b', 'a']);
  expect(await borrowers('title.startsWith("Em") && borrower != "d"')).toEqual(['e', 'b', 'a']);
  await service.api.callWith('PATCH', `/v1/books/${other}`, { title: 'Emma' });
  expect(await borrowers('title == "Emma"')).toEqual(['e', 'd', 'c', 'b', 'a']);
});

it('calls another service with a time limit, and counts the results', async () => {
  const find = (title: string) => service.api.call('GET', `/v1/covers?title=${encodeURIComponent(title)}`);
  expect(await find('a & b')).toMatchObject({ status: 200, body: { url: 'https://covers.example/1.png' } });
  for (const title of ['broken', 'silent']) {
    const { status, headers, body } = await find(title);
    expect([status, headers.get('Retry-After'), body.title]).toEqual([503, '5', 'Covers unavailable']);
  }
  const scrape = await service.scrape();
  const calls = ['responded', 'failed'].map((outcome) => scrape.sum('items_covers_calls_total', { outcome }));
  expect(calls).toEqual([1, 2]);
});
