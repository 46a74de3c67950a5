import { setTimeout as delay } from 'node:timers/promises';
import { Body, Controller, Module, Post, Query } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { Allow, ValidateNested } from 'class-validator';
import { DataSource, Repository } from 'typeorm';
import { ItemsModule } from '../src/items/items.module.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { StoredResponses } from '../src/platform/idempotency/stored-responses.js';
import { StoredResponse } from '../src/platform/idempotency/stored-response.entity.js';
import { Item } from '../src/items/item.entity.js';
import { itemFilter } from '../src/items/item.filter.js';
import { Idempotent, Lists, newId, Operation, PageQueryOf, RequireScopes, ApiTag } from '../src/platform/index.js';
import { AccessTokensService } from '../src/platform/auth/access-tokens.service.js';
import { type Answer, Api, type ItemBody } from './support/api.js';
import { eventually, startService, TESTER } from './support/service.js';
import { useService } from './support/use-service.js';

class Receipt {
  @ApiProperty({ type: Number })
  declare readonly attempt: number;
}

class ReceiptsQuery extends PageQueryOf(itemFilter) {}

class Label {
  @Allow()
  declare readonly text?: unknown;
}

class Labels {
  @ValidateNested({ each: true })
  @Type(() => Label)
  declare readonly labels: Label[];
}

/** A module of another team: it writes an item, saves another, and sometimes fails afterwards. */
@ApiTag({ name: 'Receipts', description: 'What the tests call.' })
@Controller('receipts')
@RequireScopes('receipts')
class ReceiptsController {
  static attempts = 0;
  static waiting = 0;
  static upstream: Promise<void> = Promise.resolve();
  static late: Promise<unknown> = Promise.resolve();
  static outcome: 'answers' | 'throws' | 'ignores a failed statement' | 'fails in part' = 'answers';

  constructor(
    @InjectRepository(Item) private readonly items: Repository<Item>,
    private readonly lists: Lists,
  ) {}

  @Post()
  @Idempotent()
  @Operation({ summary: 'Write a receipt', status: 201, response: Receipt, responseDescription: 'The receipt.' })
  async writeReceipt(): Promise<Receipt> {
    const { items } = this;
    await items.insert({ id: newId(), name: 'receipt', description: null });
    ReceiptsController.attempts += 1;
    await items.save({ id: newId(), name: 'receipt', description: null });
    if (ReceiptsController.outcome === 'throws') throw new Error('afterwards');
    if (ReceiptsController.outcome === 'ignores a failed statement')
      await items.query('SELECT nothing').catch(() => undefined);
    if (ReceiptsController.outcome === 'fails in part') {
      const many = async () => {
        for (let index = 0; index < 20; index += 1) {
          await items.insert({ id: newId(), name: 'receipt', description: null }).catch(() => undefined);
        }
      };
      await Promise.all([many(), items.query('SELECT nothing')]);
    }
    return { attempt: ReceiptsController.attempts };
  }

  @Post('silent')
  @Idempotent()
  @Operation({ summary: 'Write a receipt, and say nothing', status: 201 })
  async writeSilently(): Promise<void> {
    await this.writeReceipt();
  }

  @Post('slow')
  @Idempotent()
  @Operation({ summary: 'Wait, then write', status: 201, response: Receipt })
  async writeSlowly(): Promise<Receipt> {
    ReceiptsController.waiting += 1;
    await ReceiptsController.upstream;
    await this.items.insert({ id: newId(), name: 'slow', description: null });
    return { attempt: 1 };
  }

  @Post('parts')
  @Idempotent()
  @Operation({ summary: 'Write in parts that run at the same time', status: 201, response: Receipt })
  async writeInParts(): Promise<Receipt> {
    const write = () => this.items.insert({ id: newId(), name: 'part', description: null });
    const late = ReceiptsController.upstream.then(write);
    ReceiptsController.late = Promise.allSettled([late]);
    await Promise.all([
      late,
      write().then(() => ReceiptsController.outcome === 'throws' && Promise.reject(new Error('in part'))),
    ]);
    return { attempt: 1 };
  }

  @Post('listed')
  @Idempotent()
  @Operation({ summary: 'Write and list', status: 201, response: Receipt, responseDescription: 'Its place in the list.' })
  async listReceipts(@Query() query: ReceiptsQuery): Promise<Receipt> {
    const id = newId();
    await this.items.insert({ id, name: 'listed', description: null });
    const { items } = await this.lists.findPage(this.items, query);
    return { attempt: items.findIndex((item) => item.id === id) };
  }

  @Post('labels')
  @Idempotent()
  @Operation({ summary: 'Take labels', status: 201, response: Receipt })
  takeLabels(@Body() { labels }: Labels): Receipt {
    return { attempt: labels.length };
  }
}

@Module({ imports: [PlatformModule, ItemsModule, TypeOrmModule.forFeature([Item])], controllers: [ReceiptsController] })
class WithReceipts {}

const service = useService(() => startService({}, undefined, WithReceipts));
let counter = 0;

const newKey = () => `key-${(counter += 1)}`;

function create(key: string, item: unknown, api: Api = service.api): Promise<Answer<ItemBody>> {
  return api.post<ItemBody>(typeof item === 'string' ? item : JSON.stringify(item), { 'Idempotency-Key': key });
}

const countItems = (name: string) => service.app.get(DataSource).getRepository(Item).countBy({ name });

function expectReplay(answer: Answer<unknown>, original: Answer<unknown>): void {
  expect([answer.status, answer.body, answer.headers.get('idempotent-replayed')]).toEqual([201, original.body, 'true']);
}

describe('a key', () => {
  it('creates one item for repeated requests, and repeats the response [key-once]', async () => {
    const key = newKey();
    const original = await create(key, { name: 'once', description: 'a "description"\n' });
    expect([original.status, original.headers.get('idempotent-replayed')]).toEqual([201, null]);
    for (let repeat = 0; repeat < 3; repeat += 1) {
      expectReplay(await create(key, { name: 'once', description: 'a "description"\n' }), original);
    }
    expect(await countItems('once')).toBe(1);
    expect((await service.api.list({ limit: '1' })).body.items).toEqual([original.body]);
  });

  it('ignores the order of properties in the JSON [key-canonical]', async () => {
    const key = newKey();
    const original = await create(key, '{"name":"same","description":"x"}');
    expectReplay(await create(key, '{ "description": "\\u0078", "name": "same" }'), original);
  });

  it('responds 422 to another request, without an effect [key-reused]', async () => {
    const key = newKey();
    await create(key, { name: 'first' });
    for (const item of [{ name: 'second' }, { name: 'first', description: 'more' }, { name: 'first', description: null }]) {
      const { status, body } = await create(key, item);
      expect([status, body]).toEqual([422, expect.objectContaining({ type: '/docs/problems#idempotency-key-reused' })]);
    }
    expect([await countItems('first'), await countItems('second')]).toEqual([1, 0]);
  });

  it('belongs to one token [key-per-token]', async () => {
    const key = newKey();
    const other = await service.newClient();
    const answers = [await create(key, { name: 'mine' }), await create(key, { name: 'mine' }, other)];
    expect(answers.map(({ status, headers }) => [status, headers.get('idempotent-replayed')])).toEqual([
      [201, null],
      [201, null],
    ]);
    expect(await countItems('mine')).toBe(2);
  });

  it('is shared with the token that replaces its token by rotation [key-survives-rotation]', async () => {
    const key = newKey();
    const old = await service.newClient('to be rotated');
    const original = await create(key, { name: 'rotated' }, old);
    const tokens = service.app.get(AccessTokensService);
    const { id = '' } = (await tokens.list()).find(({ name }) => name === 'to be rotated') ?? {};
    const rotated = new Api(old.origin, (await tokens.rotate(id, { overlap: 60_000 }, TESTER)).token);
    expectReplay(await create(key, { name: 'rotated' }, rotated), original);
    expectReplay(await create(key, { name: 'rotated' }, old), original);
    const { id: next = '' } = (await tokens.list()).findLast(({ name }) => name === 'to be rotated') ?? {};
    const rotatedTwice = new Api(old.origin, (await tokens.rotate(next, { overlap: 60_000 }, TESTER)).token);
    expectReplay(await create(key, { name: 'rotated' }, rotatedTwice), original);
    expect(await countItems('rotated')).toBe(1);
  });

  it('is not taken by a request that is refused [key-not-taken]', async () => {
    const key = newKey();
    expect((await create(key, { name: '' })).status).toBe(400);
    expect((await create(key, { name: 'valid' })).status).toBe(201);
  });

  it.each(['!', '~'.repeat(255), '"8e03978e-40d5-43dd-bc93-6894a57f9324"', "';DROP-TABLE-items;--"])(
    'may be %s [key-form]',
    async (key) => {
      const original = await create(key, { name: 'x' });
      expectReplay(await create(key, { name: 'x' }), original);
    },
  );

  it('belongs to a request with nested values, which differs in their types and in the order of arrays', async () => {
    const take = (labels: object[]) =>
      service.api.callWith('POST', '/v1/receipts/labels', { labels }, { 'Idempotency-Key': 'labels' });
    const [a, b] = [{ text: { size: 1, color: 'red' } }, { text: 'b' }];
    expect((await take([a, b])).status).toBe(201);
    expect((await take([{ text: { color: 'red', size: 1 } }, b])).headers.get('idempotent-replayed')).toBe('true');
    for (const labels of [[b, a], [{ text: { size: '1', color: 'red' } }, b], [a], [a, b, b], [{ text: { size: 1 } }, b]]) {
      expect([labels, (await take(labels)).status]).toEqual([labels, 422]);
    }
  });

  it.each(['', 'x'.repeat(256), 'a b', 'é'])(
    'is refused when it is empty, too long, or not visible ASCII: %j [key-form]',
    async (key) => {
      const { status, body } = await service.api.post('{"color":1}', { 'Idempotency-Key': key });
      expect([status, body.errors]).toEqual([400, [expect.objectContaining({ parameter: 'Idempotency-Key', code: 'key' })]]);
    },
  );

  it('has no effect on routes without @Idempotent()', async () => {
    const { status, headers } = await service.api.call('GET', '/v1/items', { headers: { 'Idempotency-Key': 'a b' } });
    expect([status, headers.get('idempotent-replayed')]).toEqual([200, null]);
  });
});

describe('the stored response', () => {
  it('contains neither the token nor the request [key-stores-digest]', async () => {
    const key = newKey();
    await create(key, { name: 'kept' });
    const { digest, ...rest } = await service.app.get(DataSource).getRepository(StoredResponse).findOneByOrFail({ key });
    expect(digest).toHaveLength(32);
    expect(rest).toEqual({
      ownerId: expect.any(String),
      key,
      status: 201,
      body: expect.any(String),
      expiresAt: expect.any(Date),
    });
    const hours = (rest.expiresAt.getTime() - Date.now()) / 3_600_000;
    expect(hours).toBeGreaterThan(23.9);
    expect(hours).toBeLessThanOrEqual(24);
  });

  it('is deleted after it has expired, in several batches, and no other is', async () => {
    const answers = service.app.get(DataSource).getRepository(StoredResponse);
    await create('lasts', { name: 'x' });
    await answers.query(
      `INSERT INTO idempotency_keys (token_id, key, digest, expires_at)
       SELECT gen_random_uuid(), 'expired', '', now() - interval '1 second' FROM generate_series(1, 2500)`,
    );
    await service.app.get(StoredResponses).deleteExpired();
    expect(await answers.countBy({ key: 'expired' })).toBe(0);
    expect(await answers.countBy({ key: 'lasts' })).toBe(1);
  });
});

describe('with a time to live of 1 second', () => {
  const shortLived = useService(() => startService({ IDEMPOTENCY_TTL: '1' }));

  it('expires, so that the key can be used again, and is deleted [key-expires]', async () => {
    let key = '';
    let id = '';
    // On a busy machine, the first ones have expired before they are used again.
    await eventually(async () => {
      key += 'k';
      ({ id } = (await create(key, { name: 'x' }, shortLived.api)).body);
      return (await create(key, { name: 'y' }, shortLived.api)).status === 422;
    });
    await eventually(async () => {
      const { status, body } = await create(key, { name: 'y' }, shortLived.api);
      return status === 201 && body.id !== id;
    });
    await eventually(async () => (await shortLived.app.get(DataSource).getRepository(StoredResponse).count()) === 0);
  });
});

describe("another module's handler", () => {
  const write = (key: string) =>
    service.api.call<Receipt | undefined>('POST', '/v1/receipts', { headers: { 'Idempotency-Key': key } });
  const countReceipts = () => service.app.get(DataSource).getRepository(Item).countBy({ name: 'receipt' });

  it.each(['throws', 'ignores a failed statement', 'fails in part'] as const)(
    'writes nothing when it %s, and runs again [key-not-taken]',
    async (outcome) => {
      const key = outcome.replaceAll(' ', '-');
      const before = await countReceipts();
      ReceiptsController.outcome = outcome;
      expect((await write(key)).status).toBe(500);
      await delay(200);
      expect(await countReceipts()).toBe(before);
      ReceiptsController.outcome = 'answers';
      const { status, body } = await write(key);
      expect([status, body]).toEqual([201, { attempt: ReceiptsController.attempts }]);
      expectReplay(await write(key), { status, body, headers: new Headers() });
      expect(await countReceipts()).toBe(before + 2);
    },
  );

  it('writes nothing in a part that goes on after another one has failed, or was not run again [key-once]', async () => {
    const items = service.app.get(DataSource).getRepository(Item);
    const key = newKey();
    const writeInParts = (upstream: Promise<void>) => {
      ReceiptsController.upstream = upstream;
      return service.api.call('POST', '/v1/receipts/parts', { headers: { 'Idempotency-Key': key } });
    };
    const statusWithLatePart = async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const { status } = await writeInParts(promise);
      // The rollback, which the response does not wait for, is over.
      await delay(200);
      resolve();
      await ReceiptsController.late;
      return [status, await items.countBy({ name: 'part' })];
    };
    ReceiptsController.outcome = 'throws';
    expect(await statusWithLatePart()).toEqual([500, 0]);
    ReceiptsController.outcome = 'answers';
    expect((await writeInParts(Promise.resolve())).status).toBe(201);
    expect(await statusWithLatePart()).toEqual([201, 2]);
  });

  it('may respond without a body', async () => {
    const attempts = ReceiptsController.attempts;
    const writeSilently = () => service.api.call('POST', '/v1/receipts/silent', { headers: { 'Idempotency-Key': 'empty' } });
    const answers = [await writeSilently(), await writeSilently()];
    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [201, undefined],
      [201, undefined],
    ]);
    expect(ReceiptsController.attempts).toBe(attempts + 1);
  });

  it.each(['', '&filter=name == "listed"'])('may list what it has just written%s', async (filter) => {
    const keys = Array.from({ length: 20 }, (_, index) => `${encodeURIComponent(filter)}-${index}`);
    const writeAndList = (key: string) =>
      service.api.call<Receipt>('POST', `/v1/receipts/listed?limit=100${filter}`, { headers: { 'Idempotency-Key': key } });
    const answers = await Promise.all(keys.map(writeAndList));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(answers.filter(({ body }) => body.attempt < 0)).toEqual([]);
  });

  it('uses no connection while it waits for something else', async () => {
    let respond!: () => void;
    ReceiptsController.upstream = new Promise((resolve) => (respond = resolve));
    const writes = Array.from({ length: 40 }, (_, index) =>
      service.api.call('POST', '/v1/receipts/slow', { headers: { 'Idempotency-Key': `slow-${index}` } }),
    );
    await eventually(() => ReceiptsController.waiting === 40);
    expect((await service.api.list()).status).toBe(200);
    respond();
    expect(new Set((await Promise.all(writes)).map(({ status }) => status))).toEqual(new Set([201]));
    expect(await countItems('slow')).toBe(40);
  });

  it('needs a different key for each path and query [key-one-path]', async () => {
    ReceiptsController.outcome = 'answers';
    const headers = { 'Idempotency-Key': 'path' };
    const paths = ['/v1/receipts', '/v1/receipts/silent', '/v1/receipts?', '/v1/receipts'];
    const statuses = [];
    for (const path of paths) statuses.push((await service.api.call('POST', path, { headers })).status);
    expect(statuses).toEqual([201, 422, 422, 201]);
  });
});
