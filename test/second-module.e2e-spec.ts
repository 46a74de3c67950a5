import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ItemsModule } from '../src/items/items.module.js';
import { checkTables } from '../src/platform/database/table-name.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { ParcelsModule } from './fuzz/support/parcels.js';
import { WidgetsModule } from './fixtures/widgets/widgets.module.js';
import { Widget } from './fixtures/widgets/widget.entity.js';
import { Api, type ProblemBody } from './support/api.js';
import { Contract } from './support/contract.js';
import { measured } from './support/measurements.js';
import { describePromises } from './support/promises.js';
import { eventually, type Service, startService } from './support/service.js';

// Modules of other teams, in the application with one line more for each.
@Module({ imports: [PlatformModule, ItemsModule, WidgetsModule, ParcelsModule] })
class AppModule {}

const FOLDER = 'test/fixtures/widgets';

describePromises('/v1/widgets', AppModule);

describe('a second module', () => {
  let service: Service;
  const create = (body: object, headers = {}, client = service.api) =>
    client.call<ProblemBody & Widget>('POST', '/v1/widgets', {
      body: JSON.stringify(body),
      headers: { 'Content-Type': 'application/json', ...headers },
    });
  const sprocket = { name: 'Sprocket', price: 1250, size: 'small' };

  beforeAll(async () => {
    service = await startService({}, undefined, AppModule);
  });

  afterAll(() => service.stop());

  it('is written against the door of the platform alone, in few lines', () => {
    const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
    const texts = files.map((name) => readFileSync(join(FOLDER, name), 'utf8'));
    const imports = texts.flatMap((text) => [...text.matchAll(/from '([^']+)'/g)].map(([, from = '']) => from));
    const foreign = imports.filter((from) => !/^\.\/|^(@nestjs\/(common|typeorm)|typeorm)$/.test(from));
    expect(new Set(foreign.map((from) => from.replaceAll('../', '')))).toEqual(new Set(['src/platform/index.js']));
    const lines = texts.map((text) => text.trimEnd().split('\n').length).reduce((sum, count) => sum + count, 0);
    measured('lines of the second module', lines, `in ${files.length} files`);
    expect(lines).toBeLessThan(150);
  });

  it('keeps its numbers, words and gaps', async () => {
    const { body } = await create({ ...sprocket, note: null });
    expect(body).toEqual({ ...sprocket, id: expect.any(String), createdAt: expect.any(String) });
    const { body: noted } = await create({ ...sprocket, name: 'Gear', note: 'Mind the teeth.' });
    const { body: page } = await service.api.call<{ items: unknown[] }>('GET', '/v1/widgets');
    expect(page.items).toEqual([noted, body]);
  });

  it.each([
    [{ price: 12.5 }, '/price', 'type', 'must be a whole number'],
    [{ price: -1 }, '/price', 'range', 'must be from 0 to 100000000'],
    [{ price: '5' }, '/price', 'type', 'must be a whole number'],
    [{ size: 'medium' }, '/size', 'type', 'must be one of "small", "large"'],
    [{ size: null }, '/size', 'type', 'must be one of "small", "large"'],
    [{ note: 5 }, '/note', 'type', 'must be a string'],
  ])('says what is wrong with %j', async (change, pointer, code, detail) => {
    const { status, body } = await create({ ...sprocket, ...change });
    expect([status, body.errors]).toEqual([400, [{ pointer, code, detail }]]);
  });

  describe('with a property of every type', () => {
    const parcel = {
      label: 'Bell',
      weight: 5,
      kind: 'box',
      fragile: false,
      sender: '0190163D-8694-739B-AEA5-966C26F8AD91',
      sent: '2026-01-31T12:00:00.5+01:00',
    };
    const post = (body: object) =>
      service.api.call('POST', '/v1/parcels', {
        body: JSON.stringify(body),
        headers: { 'Content-Type': 'application/json' },
      });

    it('stores each as its type says, UUIDs of whatever version', async () => {
      const receiver = 'DEADBEEF-DEAD-FEED-CAFE-DEADBEEFCAFE';
      const { status, body } = await post({ ...parcel, note: null, receiver });
      const stored = { sender: parcel.sender.toLowerCase(), receiver: receiver.toLowerCase(), sent: '2026-01-31T11:00:00.500Z' };
      expect([status, body]).toEqual([201, { ...parcel, ...stored, id: expect.any(String), createdAt: expect.any(String) }]);
    });

    it('names all that is missing', async () => {
      const { body } = await post({});
      const required = Object.keys(parcel).map((name) => ({ pointer: `/${name}`, code: 'required', detail: 'is required' }));
      expect(body.errors?.toSorted((a, b) => String(a.pointer).localeCompare(String(b.pointer)))).toEqual(
        required.toSorted((a, b) => a.pointer.localeCompare(b.pointer)),
      );
    });

    it.each<[string, unknown[], string]>([
      ['weight', ['5', 5.5, null, true, [5]], 'type'],
      ['weight', [-6, 2_147_483_648, -(2 ** 60)], 'range'],
      ['kind', ['medium', 'Box', '', 5, null, ['box']], 'type'],
      ['fragile', ['true', 1, null, 'yes'], 'type'],
      ['sender', ['x', '0190163d8694739baea5966c26f8ad91', 5, null, `${parcel.sender} `], 'type'],
      ['sent', ['2026-01-31', '2026-01-31T12:00:00', '2026-02-30T12:00:00Z', '2026-01-31T12:00:00.0001Z', 5, null], 'type'],
      ['arrived', ['soon', 5], 'type'],
      ['note', [5, false, {}], 'type'],
      ['note', ['x'.repeat(51)], 'too_long'],
      ['note', ['\0', '\ud800'], 'character'],
    ])('refuses for %s %j', async (name, values, code) => {
      for (const value of values) {
        const { status, body } = await post({ ...parcel, [name]: value });
        expect([value, status, body.errors]).toMatchObject([value, 400, [{ pointer: `/${name}`, code }]]);
      }
    });
  });

  it('has a problem of its own, which is documented', async () => {
    await create({ ...sprocket, name: 'Taken' });
    const { status, body } = await create({ ...sprocket, name: 'Taken' }, { 'Idempotency-Key': 'taken' });
    expect([status, body.type, body.detail]).toEqual([
      409,
      '/docs/problems#widget-name-taken',
      'Another widget has this name. Choose another one.',
    ]);
    expect(await (await fetch(`${service.api.origin}/docs/problems`)).text()).toContain('<section id="widget-name-taken">');
    const contract = await Contract.read(service.api.origin);
    expect(contract.operation('post', '/v1/widgets').responses['409']?.description).toBe(
      '[Widget name taken](docs/problems#widget-name-taken)',
    );
  });

  it('lets one of those create a name who ask for it at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => create({ ...sprocket, name: 'Only one' })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, ...Array.from({ length: 9 }, () => 409)]);
  });

  it('has a scope of its own', async () => {
    const ofItems = await service.newClient('items', { scopes: ['items:read', 'items:write'] });
    const ofWidgets = await service.newClient('widgets', { scopes: ['widgets'] });
    const list = (path: string, client: Api) => client.call('GET', path).then(({ status }) => status);
    expect([await list('/v1/widgets', ofItems), await list('/v1/items', ofItems)]).toEqual([403, 200]);
    expect([await list('/v1/widgets', ofWidgets), await list('/v1/items', ofWidgets)]).toEqual([200, 403]);
  });

  it.each([
    ['size == "large" && price < 500', ['Cheap']],
    ['price >= 2000000000', []],
    ['price in [199, 99000]', ['Dear', 'Cheap']],
    ['note == null && price > 90000', ['Dear']],
  ])('lists by its own fields: %s', async (filter, names) => {
    if (!(await service.app.get(DataSource).getRepository(Widget).existsBy({ name: 'Cheap' }))) {
      await create({ name: 'Cheap', price: 199, size: 'large', note: 'x' });
      await create({ name: 'Dear', price: 99_000, size: 'small' });
    }
    const query = new URLSearchParams({ filter }).toString();
    const { body } = await service.api.call<{ items: Widget[] }>('GET', `/v1/widgets?${query}`);
    expect(body.items.map(({ name }) => name)).toEqual(names);
  });

  it('makes the service unready while its own indicator fails', async () => {
    const { manager } = service.app.get(DataSource);
    const ready = async () => (await service.api.send('GET', '/readyz')).body;
    await manager.query('ALTER TABLE widgets RENAME TO hidden');
    expect(await ready()).toMatchObject({ status: 503, detail: 'Not ready: widgets.' });
    await manager.query('ALTER TABLE hidden RENAME TO widgets');
    await eventually(async () => (await ready()).status === ('ok' as unknown));
  });

  it('is not served from a table that lacks what its entity names', async () => {
    const { manager } = service.app.get(DataSource);
    await expect(checkTables(manager.dataSource)).resolves.toBeUndefined();
    await manager.query('ALTER TABLE widgets RENAME note TO remark');
    await expect(checkTables(manager.dataSource)).rejects.toThrow(
      /^The entity Widget does not fit the database: column .*note.* does not exist\. Write a migration that fixes it;/,
    );
    await manager.query('ALTER TABLE widgets RENAME remark TO note');
  });
});
