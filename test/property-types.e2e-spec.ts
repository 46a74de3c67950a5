import { jest } from '@jest/globals';
import { Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ItemsModule } from '../src/items/items.module.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { LibraryService } from './fixtures/library/library.service.js';
import { Order } from './fixtures/orders/order.entity.js';
import { OrdersModule } from './fixtures/orders/orders.module.js';
import type { ProblemBody } from './support/api.js';
import { Contract } from './support/contract.js';
import { startService } from './support/service.js';
import { useService } from './support/use-service.js';

@Module({ imports: [PlatformModule, ItemsModule, OrdersModule] })
class OtherTeamsModule {}

const service = useService(() => startService({}, undefined, OtherTeamsModule));

interface OrderBody extends Record<string, unknown> {
  id: string;
}

const PATH = '/v1/orders';
const EXAMPLE = { copies: 2, price: '12.50', dueOn: '2026-02-28', orderedAt: '2026-01-31T12:00:00Z' };

async function addBook(title = 'Middlemarch'): Promise<string> {
  return (await service.api.callWith<OrderBody>('POST', '/v1/books', { title, copies: 1 })).body.id;
}

let bookId: string;

beforeAll(async () => {
  bookId = await addBook();
});

const order = (values: object = {}, headers = {}) =>
  service.api.callWith<OrderBody & ProblemBody>('POST', PATH, { ...EXAMPLE, bookId, ...values }, headers);

/** An order as it is sent when it is created, read alone and listed, which are equal. */
async function orderOf(values: object): Promise<Record<string, unknown>> {
  const { status, body } = await order(values);
  expect([values, status]).toEqual([values, 201]);
  expect(await service.api.call('GET', `${PATH}/${body.id}`)).toMatchObject({ status: 200, body });
  expect((await service.api.walk<OrderBody>({}, PATH)).find(({ id }) => id === body.id)).toEqual(body);
  return body;
}

describe('values', () => {
  it.each([
    ['price', ['0.00', '0.01', '0.30', '9007199254740993.00', '999999999999999999.99']],
    ['dueOn', ['0001-01-01', '1582-10-10', '2024-02-29', '2026-03-29', '9999-12-31']],
  ])('of %s are sent as they were given', async (name, values) => {
    for (const value of values) {
      expect(await orderOf({ [name]: value })).toMatchObject({ [name]: value });
    }
  });

  it('of times with any offset are sent in UTC [times-in-utc]', async () => {
    for (const [given, sent] of [
      ['2026-01-31T12:00:00Z', '2026-01-31T12:00:00.000Z'],
      ['2026-03-01T00:30:00.1+02:00', '2026-02-28T22:30:00.100Z'],
      ['2026-01-31T23:59:59.999-23:59', '2026-02-01T23:58:59.999Z'],
      ['2026-01-31T12:00:00-00:00', '2026-01-31T12:00:00.000Z'],
      ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
      ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ]) {
      expect([given, (await orderOf({ orderedAt: given }))['orderedAt']]).toEqual([given, sent]);
    }
    const filter = 'orderedAt == timestamp("2026-03-01T00:30:00.1+02:00")';
    expect(await service.api.walk({ filter }, PATH)).toHaveLength(1);
  });

  it.each<[string, unknown[], string]>([
    ['price', [0.1 + 0.2, 12, 2 ** 53, null, ['1.00'], {}], 'amount'],
    [
      'price',
      ['', '12', '12.5', '12.500', '012.50', '+1.00', '-1.00', '1e2', '1,00', ' 1.00', '1.00\n', '١.٠٠', '.50'],
      'amount',
    ],
    ['price', ['0.30000000000000004', '1000000000000000000.00', 'NaN', 'Infinity', '9'.repeat(1000)], 'amount'],
    ['dueOn', ['2026-02-29', '2026-02-30', '2026-04-31', '2026-13-01', '2026-00-10', '1900-02-29', '0000-01-01'], 'date'],
    [
      'dueOn',
      ['2026-1-31', '20260131', '2026-W05', '2026-01-31T00:00:00Z', '+002026-01-31', '2026-01-31\n', '10000-01-01'],
      'date',
    ],
    ['dueOn', ['infinity', '-infinity', 'today', 'epoch', '', 20_260_131, null, {}, ['2026-01-31']], 'date'],
    [
      'orderedAt',
      ['2026-02-30T00:00:00Z', '2026-01-31T24:00:00Z', '2026-01-31T12:60:00Z', '2016-12-31T23:59:60Z'],
      'timestamp',
    ],
    [
      'orderedAt',
      ['2026-01-31', '2026-01-31T12:00Z', '2026-01-31T12:00:00', '2026-01-31 12:00:00Z', '1769860800'],
      'timestamp',
    ],
    ['orderedAt', ['2026-01-31T12:00:00+0200', '2026-01-31T12:00:00+24:00', '2026-01-31T12:00:00+02:60'], 'timestamp'],
    ['orderedAt', ['2026-01-31T12:00:00.1234Z', '9999-12-31T23:59:59-00:01', '0001-01-01T00:00:00+00:01'], 'timestamp'],
    ['orderedAt', ['infinity', '-infinity', 'now', '', 1_769_860_800_000, null, {}, []], 'timestamp'],
  ])('of %s are refused: %j', async (name, values, code) => {
    for (const value of values) {
      const { status, body } = await order({ [name]: value });
      const fault = { pointer: `/${name}`, code, detail: expect.stringMatching(/^must be /) };
      expect([value, status, body.errors]).toEqual([value, 400, [fault]]);
    }
  });

  it('are documented', async () => {
    const { schemas } = (await Contract.read(service.api.origin)).document.components;
    expect(schemas['NewOrder']).toMatchObject({
      properties: {
        price: { type: 'string', pattern: expect.stringContaining(String.raw`\.\d\d`), example: '12.50' },
        dueOn: { type: 'string', format: 'date' },
        orderedAt: { type: 'string', format: 'date-time' },
        phone: { writeOnly: true },
      },
      required: ['bookId', 'copies', 'price', 'dueOn', 'orderedAt'],
    });
    expect(schemas['Order']).toMatchObject({
      properties: { price: { type: 'string' }, dueOn: { format: 'date' }, orderedAt: { format: 'date-time' } },
      required: expect.arrayContaining(['total', 'title', 'state', 'price']),
    });
  });
});

describe('properties of one direction', () => {
  it('are computed exactly, and cannot be set', async () => {
    for (const [copies, price, total] of [
      [3, '0.10', '0.30'],
      [1, '0.07', '0.07'],
      [3, '9007199254740993.01', '27021597764222979.03'],
    ]) {
      expect(await orderOf({ copies, price })).toMatchObject({ total, state: 'placed', title: 'Middlemarch' });
    }
    for (const [name, value] of Object.entries({
      total: '0.00',
      state: 'canceled',
      title: 'x',
      id: bookId,
      createdAt: 'x',
    })) {
      const { status, body } = await order({ [name]: value });
      expect([name, status, body.errors]).toEqual([
        name,
        400,
        [expect.objectContaining({ pointer: `/${name}`, code: 'unknown' })],
      ]);
    }
  });

  it('are stored and never sent [one-direction]', async () => {
    const phone = '555-0199';
    const key = { 'Idempotency-Key': 'an-order' };
    const created = await order({ phone }, key);
    const { id } = created.body;
    const answers = [
      created,
      await order({ phone }, key),
      await service.api.call('GET', `${PATH}/${id}`),
      await service.api.list({}, PATH),
      await order({ phone, price: 1 }),
      await service.api.list({ filter: `phone == "${phone}"` }, PATH),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 200, 200, 400, 400]);
    expect(answers[1]?.headers.get('Idempotent-Replayed')).toBe('true');
    expect(JSON.stringify(answers.slice(0, -1))).not.toMatch(/phone|555-0199/);
    const dataSource = service.app.get(DataSource);
    expect(await dataSource.getRepository(Order).findOneBy({ id })).toMatchObject({ phone });
    const stored = await dataSource.query<object[]>('SELECT * FROM idempotency_keys');
    expect([stored.length, JSON.stringify(stored).includes(phone)]).toEqual([1, false]);
  });
});

describe('the book of another feature', () => {
  it('has to exist', async () => {
    const missing = await order({ bookId: '0190163d-8694-739b-aea5-966c26f8ad91' });
    expect([missing.status, missing.body.detail]).toEqual([404, 'There is no book with this id.']);
    expect((await service.api.call('DELETE', `/v1/books/${bookId}`)).status).toBe(409);
  });

  it('is kept by the foreign key if it is deleted while an order is written [foreign-key-conflict]', async () => {
    const library = service.app.get(LibraryService);
    const find = library.getBook.bind(library);
    const book = await addBook('Deleted');
    jest.spyOn(library, 'getBook').mockImplementationOnce(async (id) => {
      const found = await find(id);
      expect((await service.api.call('DELETE', `/v1/books/${id}`)).status).toBe(204);
      return found;
    });
    const { status, body } = await order({ bookId: book });
    expect([status, body.type]).toEqual([409, '/docs/problems#conflict']);
    expect(await service.api.walk({ filter: 'title == "Deleted"' }, PATH)).toEqual([]);
  });
});

it('lists open orders alone, by the title of another table too, page by page', async () => {
  const orders = service.app.get(DataSource).getRepository(Order);
  const ofEmma = await addBook('Emma');
  for (let copies = 1; copies <= 6; copies += 1) await order({ bookId: ofEmma, copies });
  await orders.update({ title: 'Emma', copies: 2 }, { state: 'canceled' });
  await orders.update({ title: 'Emma', copies: 5 }, { state: 'arrived' });
  const walk = async (filter: string) =>
    (await service.api.walk<OrderBody>({ limit: '2', filter }, PATH)).map(({ copies }) => copies);
  expect(await walk('title.startsWith("Em")')).toEqual([6, 5, 4, 3, 1]);
  expect((await service.api.walk({ limit: '2' }, PATH)).length).toBe((await orders.count()) - 1);
});
