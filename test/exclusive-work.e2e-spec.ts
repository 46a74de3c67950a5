import { context, propagation, trace } from '@opentelemetry/api';
import { InMemorySpanExporter } from '@opentelemetry/sdk-trace';
import { DataSource } from 'typeorm';
import { Item } from '../src/items/item.entity.js';
import { readConfiguration } from '../src/platform/config/read-configuration.js';
import { Database } from '../src/platform/database/database.js';
import { newId } from '../src/platform/ids/id.js';
import { startSdk } from '../src/platform/tracing/start-sdk.js';
import { startMeasured } from './support/scrape.js';
import { startService } from './support/service.js';
import { useService } from './support/use-service.js';

// On the embedded database, which has one connection and one process, unless there is a server.

const service = useService(() => startMeasured());
const database = () => service.app.get(Database);
const items = () => service.app.get(DataSource).getRepository(Item);

async function outcomes(): Promise<Record<string, number>> {
  const scrape = await service.scrape();
  const names = ['ran', 'skipped', 'failed', 'lost'];
  return Object.fromEntries(names.map((outcome) => [outcome, scrape.sum('items_exclusive_work_total', { outcome })]));
}

it('runs work once at a time by its name, with transactions, and says whether it ran [exclusive-work]', async () => {
  const before = await outcomes();
  const { promise: gate, resolve: open } = Promise.withResolvers<undefined>();
  const { promise: begun, resolve: begin } = Promise.withResolvers<undefined>();
  const add = (name: string) => database().transaction(() => items().insert({ id: newId(), name }));
  const first = database().exclusively('test.one', async (signal) => {
    await add('by work');
    begin(undefined);
    await gate;
    return signal.aborted;
  });
  await begun;
  const others = [1, 2, 3].map(() => database().exclusively('test.one', () => add('by work')));
  expect(await Promise.all(others)).toEqual([{ ran: false }, { ran: false }, { ran: false }]);
  expect(await database().exclusively('test.other', () => items().countBy({ name: 'by work' }))).toEqual({
    ran: true,
    result: 1,
  });
  open(undefined);
  expect(await first).toEqual({ ran: true, result: false });
  expect(await database().exclusively('test.one', () => add('by work'))).toMatchObject({ ran: true });
  expect(await items().countBy({ name: 'by work' })).toBe(2);
  const after = await outcomes();
  expect(Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)])).toEqual([
    ['ran', 3],
    ['skipped', 3],
    ['failed', 0],
    ['lost', 0],
  ]);
});

it('rejects with the error of the work, and is free after it', async () => {
  const { failed = 0 } = await outcomes();
  const fail = () => database().exclusively('test.failing', () => Promise.reject(new Error('broken')));
  await expect(fail()).rejects.toThrow('broken');
  await expect(fail()).rejects.toThrow('broken');
  const throwing = () => {
    throw new Error('thrown');
  };
  await expect(database().exclusively('test.failing', throwing)).rejects.toThrow('thrown');
  expect((await outcomes())['failed']).toBe(failed + 3);
  expect(await database().exclusively('test.failing', () => Promise.resolve('fine'))).toEqual({ ran: true, result: 'fine' });
});

it('is refused in a transaction, whose commit would come after the end of the lock [exclusive-work-outside]', async () => {
  let hasRun = false;
  const work = async () => {
    hasRun = await Promise.resolve(true);
  };
  const nested = database().transaction(() => database().exclusively('test.nested', work));
  await expect(nested).rejects.toThrow('call database.transaction() in the work instead');
  expect(hasRun).toBe(false);
});

it('has a span, with those of its statements, although there is no request', async () => {
  for (const api of [trace, context, propagation]) api.disable();
  const exporter = new InMemorySpanExporter();
  const sdk = startSdk(readConfiguration({}), exporter);
  await database().exclusively('test.traced', () => items().countBy({ name: 'x' }));
  await sdk.forceFlush();
  const spans = exporter.getFinishedSpans();
  const own = spans.find(({ name }) => name === 'exclusively test.traced');
  expect(own?.attributes).toMatchObject({ 'items.exclusive_work.outcome': 'ran' });
  const statements = spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === own?.spanContext().spanId);
  expect(statements.map(({ name }) => name)).toContain('SELECT items');
  await sdk.shutdown();
  for (const api of [trace, context, propagation]) api.disable();
});

it('ends its work when the service stops, while the database is still there', async () => {
  const other = await startService();
  const own = other.app.get(Database);
  const repository = other.app.get(DataSource).getRepository(Item);
  let count: number | undefined;
  const { promise: begun, resolve: begin } = Promise.withResolvers<undefined>();
  const working = own.exclusively('test.long', async (signal) => {
    begin(undefined);
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    count = await repository.count();
    return 'ended';
  });
  await begun;
  await other.stop();
  expect([await working, count]).toEqual([{ ran: true, result: 'ended' }, 0]);
  expect(await own.exclusively('test.long', () => Promise.resolve())).toEqual({ ran: false });
});
