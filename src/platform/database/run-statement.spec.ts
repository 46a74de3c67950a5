import { PassThrough } from 'node:stream';
import type { DataSource } from 'typeorm';
import { meaningOf } from './database-problem.js';
import { readAlone } from './run-statement.js';

const end = Object.assign(new Error('terminating connection due to administrator command'), { code: '57P01' });

/** Reads behind a pooler whose connection ends at the first statement. @returns the error, and how the connection was released */
async function readWhileLost(read: Parameters<typeof readAlone>[3]) {
  const released: unknown[] = [];
  const client = {
    connection: { stream: new PassThrough() },
    query: () => Promise.reject(end),
    release: (isLost: unknown) => released.push(isLost),
  };
  const pool = { connect: () => Promise.resolve(client) };
  const dataSource = { options: { extra: { reads: { timeout: 1000 } } }, driver: { master: pool } } as unknown as DataSource;
  const error: unknown = await readAlone(dataSource, undefined, undefined, read).catch((reason: unknown) => reason);
  await new Promise(setImmediate);
  return { error, released };
}

it('says that the connection was lost when it ends while its settings are sent', async () => {
  const { error, released } = await readWhileLost((send) => send({ text: 'SELECT 1', values: [] }));
  expect([meaningOf(error), released]).toEqual(['connection', [true]]);
});

it('does not end the process with that error when the read sends nothing', async () => {
  const reason = new Error('no read');
  expect(await readWhileLost(() => Promise.reject(reason))).toEqual({ error: reason, released: [true] });
});
