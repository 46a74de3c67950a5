import type { DataSource } from 'typeorm';
import { meaningOf } from './database-problem.js';
import { openLimited } from './shared-connections.js';

it('says that the connection was lost when it ends while its settings are sent', async () => {
  const end = Object.assign(new Error('terminating connection due to administrator command'), { code: '57P01' });
  const client = { query: () => Promise.reject(end), end: () => undefined };
  const runner = { connect: () => Promise.resolve(client), release: () => Promise.resolve() };
  const dataSource = { options: {}, createQueryRunner: () => runner } as unknown as DataSource;
  const error: unknown = await openLimited(dataSource, { jit: 'off' }).catch((reason: unknown) => reason);
  expect(meaningOf(error)).toBe('connection');
});
