import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Module, Post } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { ApiProperty } from '@nestjs/swagger';
import { DataSource, Repository } from 'typeorm';
import { AppModule } from '../src/app.module.js';
import { StoredResponses } from '../src/platform/idempotency/stored-responses.js';
import { StoredResponse } from '../src/platform/idempotency/stored-response.entity.js';
import { Item } from '../src/items/item.entity.js';
import { Idempotent, newId, Operation, RequireScopes, Section } from '../src/platform/index.js';
import { AccessTokensService } from '../src/platform/auth/access-tokens.service.js';
import { type Answer, Api, type ItemBody } from './support/api.js';
import { eventually, startService, TESTER } from './support/service.js';
import { useService } from './support/use-service.js';

class Receipt {
  @ApiProperty({ type: Number })
  declare readonly attempt: number;
}

/** A module of another team: it writes an item, saves another, and sometimes fails afterwards. */
@Section({ title: 'Receipts', description: 'What the tests call.' })
@Controller('receipts')
@RequireScopes('receipts')
class ReceiptsController {
  static attempts = 0;
  static waiting = 0;
  static upstream: Promise<void> = Promise.resolve();
  static outcome: 'answers' | 'throws' | 'ignores a failed statement' = 'answers';

  constructor(@InjectRepository(Item) private readonly items: Repository<Item>) {}

  @Post()
  @Idempotent()
  @Operation({ summary: 'Write a receipt', status: 201, response: Receipt, responseDescription: 'The receipt.' })
  async writeReceipt(): Promise<Receipt> {
    const { items } = this;
    await items.insert({ id: newId(), name: 'receipt', description: null });
    ReceiptsController.attempts += 1;
    await items.save({ id: newId(), name: 'receipt', description: null });
    if (ReceiptsController.outcome === 'throws') throw new Error('afterwards');
    if (ReceiptsController.outcome === 'ignores a failed statement') await items.query('SELECT nothing').catch(() => undefined);
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
}

@Module({ imports: [AppModule, TypeOrmModule.forFeature([Item])], controllers: [ReceiptsController] })
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
  it('creates one item for repeated requests, and repeats the response', async () => {
    const key = newKey();
    const original = await create(key, { name: 'once', description: 'a "description"\n' });
    expect([original.status, original.headers.get('idempotent-replayed')]).toEqual([201, null]);
    for (let repeat = 0; repeat < 3; repeat += 1) {
      expectReplay(await create(key, { name: 'once', description: 'a "description"\n' }), original);
    }
    expect(await countItems('once')).toBe(1);
    expect((await service.api.list({ limit: '1' })).body.items).toEqual([original.body]);
  });

  it('ignores the order of properties in the JSON', async () => {
    const key = newKey();
    const original = await create(key, '{"name":"same","description":"x"}');
    expectReplay(await create(key, '{ "description": "\\u0078", "name": "same" }'), original);
  });

  it('responds 422 to another request, without an effect', async () => {
    const key = newKey();
    await create(key, { name: 'first' });
    for (const item of [{ name: 'second' }, { name: 'first', description: 'more' }, { name: 'first', description: null }]) {
      const { status, body } = await create(key, item);
      expect([status, body]).toEqual([422, expect.objectContaining({ type: '/docs/problems#idempotency-key-reused' })]);
    }
    expect([await countItems('first'), await countItems('second')]).toEqual([1, 0]);
  });

  it('belongs to one token', async () => {
    const key = newKey();
    const other = await service.newClient();
    const answers = [await create(key, { name: 'mine' }), await create(key, { name: 'mine' }, other)];
    expect(answers.map(({ status, headers }) => [status, headers.get('idempotent-replayed')])).toEqual([
      [201, null],
      [201, null],
    ]);
    expect(await countItems('mine')).toBe(2);
  });

  it('is shared with the token that replaces its token by rotation', async () => {
    const key = newKey();
    const old = await service.newClient('to be rotated');
    const original = await create(key, { name: 'rotated' }, old);
    const tokens = service.app.get(AccessTokensService);
    const { id = '' } = (await tokens.list()).find(({ name }) => name === 'to be rotated') ?? {};
    const rotated = new Api(old.origin, (await tokens.rotate(id, { overlap: 60_000 }, TESTER)).token);
    expectReplay(await create(key, { name: 'rotated' }, rotated), original);
    expectReplay(await create(key, { name: 'rotated' }, old), original);
    expect(await countItems('rotated')).toBe(1);
  });

  it('is not taken by a request that is refused', async () => {
    const key = newKey();
    expect((await create(key, { name: '' })).status).toBe(400);
    expect((await create(key, { name: 'valid' })).status).toBe(201);
  });

  it.each(['', 'x'.repeat(256), 'a b', 'é'])('is refused when it is empty, too long, or not visible ASCII: %j', async (key) => {
    const { status, body } = await service.api.post('{"colour":1}', { 'Idempotency-Key': key });
    expect([status, body.errors]).toEqual([400, [expect.objectContaining({ parameter: 'Idempotency-Key', code: 'key' })]]);
  });

  it('has no effect on routes without @Idempotent()', async () => {
    const { status, headers } = await service.api.call('GET', '/v1/items', { headers: { 'Idempotency-Key': 'a b' } });
    expect([status, headers.get('idempotent-replayed')]).toEqual([200, null]);
  });
});

describe('the stored response', () => {
  it('contains neither the token nor the request', async () => {
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

  it('expires, so that the key can be used again, and is deleted', async () => {
    const first = await create('key', { name: 'x' }, shortLived.api);
    expect((await create('key', { name: 'y' }, shortLived.api)).status).toBe(422);
    await delay(1000);
    const second = await create('key', { name: 'y' }, shortLived.api);
    expect([second.status, second.body.id === first.body.id]).toEqual([201, false]);
    await eventually(async () => (await shortLived.app.get(DataSource).getRepository(StoredResponse).count()) === 0);
  });
});

describe("another module's handler", () => {
  const write = (key: string) =>
    service.api.call<Receipt | undefined>('POST', '/v1/receipts', { headers: { 'Idempotency-Key': key } });
  const countReceipts = () => service.app.get(DataSource).getRepository(Item).countBy({ name: 'receipt' });

  it.each(['throws', 'ignores a failed statement'] as const)('writes nothing when it %s, and runs again', async (outcome) => {
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

  it('needs a different key for each path', async () => {
    ReceiptsController.outcome = 'answers';
    await write('path');
    expect((await service.api.post('{"name":"x"}', { 'Idempotency-Key': 'path' })).status).toBe(422);
  });
});
