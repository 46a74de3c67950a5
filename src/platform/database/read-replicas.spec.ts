import type { AppDataSource } from './app-data-source.js';
import { databaseBusy } from './database-problem.js';
import { ReadReplicas } from './read-replicas.js';

it('keeps a replica whose reads waited too long for a turn, and does not repeat them on the primary', async () => {
  let destroyed = 0;
  const options = { url: 'postgres://replica/items' };
  const destroy = () => Promise.resolve((destroyed += 1));
  const source = { isReady: true, options, manager: {}, openWithRetries: () => Promise.resolve(), destroy };
  const replicas = new ReadReplicas([source as unknown as AppDataSource], AbortSignal.timeout(1000));
  const busy = databaseBusy();
  await expect(
    replicas.read(
      () => Promise.reject(busy),
      () => Promise.resolve('primary'),
    ),
  ).rejects.toBe(busy);
  expect(destroyed).toBe(0);
});
