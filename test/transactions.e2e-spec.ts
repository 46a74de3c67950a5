import { Item } from '../src/items/item.entity.js';
import { newId } from '../src/platform/database/id.js';
import { Database, Lists } from '../src/platform/index.js';
import { type Service, startService } from './support/service.js';

let service: Service;

beforeAll(async () => {
  service = await startService();
});

afterAll(() => service.stop());

describe('what still runs when its transaction has ended', () => {
  it.each([
    ['committed', undefined],
    ['rolled back', new Error('rolled back')],
  ])('writes nothing and is told why: %s', async (_name, failure) => {
    const [database, lists] = [service.app.get(Database), service.app.get(Lists)];
    const row = () => ({ id: newId(), name: 'late' });
    let end!: () => void;
    const ended = new Promise<void>((resolve) => (end = resolve));
    let late!: Promise<PromiseSettledResult<unknown>[]>;
    const transaction = database.transaction(async () => {
      const [manager, repository] = [database.manager, database.repository(Item)];
      await repository.insert(row());
      late = ended.then(() =>
        Promise.allSettled([
          repository.insert(row()),
          repository.save(row()),
          repository.find(),
          repository.createQueryBuilder().update().set({ name: 'x' }).where('TRUE').execute(),
          manager.query('DELETE FROM items'),
          manager.transaction((inner) => inner.insert(Item, row())),
          database.repository(Item).insert(row()),
          database.transaction(() => database.repository(Item).insert(row())),
          lists.add(Item, { name: 'late', description: null }),
        ]),
      );
      if (failure) {
        throw failure;
      }
    });
    await (failure ? expect(transaction).rejects.toBe(failure) : transaction);
    const before = await database.repository(Item).count();
    end();
    // TypeORM has an error of its own for some of these.
    const reasons = (await late).map((outcome) => (outcome.status === 'rejected' ? String(outcome.reason) : 'fulfilled'));
    for (const reason of reasons) {
      expect(reason).toMatch(/^TransactionEndedError: This transaction has ended|^QueryRunnerProviderAlreadyReleasedError: /);
    }
    expect(reasons.filter((reason) => reason.startsWith('TransactionEndedError')).length).toBeGreaterThanOrEqual(5);
    expect(await database.repository(Item).count()).toBe(before);
    expect((await service.api.create({ name: 'next' })).status).toBe(201);
  });
});
