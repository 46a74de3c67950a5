import { jest } from '@jest/globals';
import { DataSource } from 'typeorm';
import { createContext } from '../../src/app.js';
import { readConfiguration } from '../../src/platform/config/read-configuration.js';
import { Database } from '../../src/platform/database/database.js';
import { runCli } from '../support/process.js';
import { createTestDatabase } from '../support/test-database.js';

it('a connection is replaced after half an hour, also one that is in use all the time [connection-lifetime]', async () => {
  const database = await createTestDatabase();
  const { environment } = database;
  await runCli(['migrate'], environment);
  const context = await createContext(readConfiguration({ ...environment, LOG_LEVEL: 'silent' }));
  const expiring: (() => void)[] = [];
  const { setTimeout: original } = globalThis;
  const spy = jest.spyOn(globalThis, 'setTimeout').mockImplementation(((callback: () => void, delay?: number) => {
    if (delay === 1_800_000) expiring.push(callback);
    return original(callback, delay);
  }) as typeof setTimeout);
  try {
    await context.get(Database).connect();
    const dataSource = context.get(DataSource);
    const session = async () => (await dataSource.query<{ pid: number }[]>('SELECT pg_backend_pid() AS pid'))[0]?.pid;
    const before = await session();
    expect([await session(), expiring.length > 0]).toEqual([before, true]);
    expiring.forEach((expire) => expire());
    const [after] = [await session()];
    expect(after).not.toBe(before);
    expect(await session()).toBe(after);
  } finally {
    spy.mockRestore();
    await context.close();
    await database.drop();
  }
});
