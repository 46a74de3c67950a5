import { PassThrough } from 'node:stream';
import type { DataSource } from 'typeorm';
import { meaningOf } from './database-problem.js';
import { readAlone } from './run-statement.js';

const end = Object.assign(new Error('terminating connection due to administrator command'), { code: '57P01' });

/** Reads behind a pooler. @returns the error, how the connection was released, and its stream */
async function readBehindPooler(query: () => Promise<unknown>, read: Parameters<typeof readAlone>[3], signal?: AbortSignal) {
  const released: unknown[] = [];
  const stream = new PassThrough();
  const client = { connection: { stream }, query, release: (isLost: unknown) => released.push(isLost) };
  const pool = { connect: () => Promise.resolve(client) };
  const dataSource = { options: { extra: { reads: { timeout: 1000 } } }, driver: { master: pool } } as unknown as DataSource;
  const error: unknown = await readAlone(dataSource, undefined, signal, read).catch((reason: unknown) => reason);
  await new Promise(setImmediate);
  return { error, released, stream };
}

const lost = () => Promise.reject(end);

it('says that the connection was lost when it ends while its settings are sent', async () => {
  const { error, released } = await readBehindPooler(lost, (send) => send({ text: 'SELECT 1', values: [] }));
  expect([meaningOf(error), released]).toEqual(['connection', [true]]);
});

it('does not end the process with that error when the read sends nothing', async () => {
  const reason = new Error('no read');
  const { error, released } = await readBehindPooler(lost, () => Promise.reject(reason));
  expect([error, released]).toEqual([reason, [true]]);
});

it('keeps the connection open when the client disconnects after the read', async () => {
  const request = new AbortController();
  const ended = () => Promise.resolve();
  const { released, stream } = await readBehindPooler(ended, ended, request.signal);
  request.abort();
  expect([released, stream.destroyed]).toEqual([[false], false]);
});
