import { jest } from '@jest/globals';
import { retryingFetch } from './retrying-fetch.js';

const ATTEMPTS = 20;
let waits: number[];

beforeEach(() => {
  waits = [];
  jest.spyOn(globalThis, 'setTimeout').mockImplementation(((wake: () => void, milliseconds: number) => {
    waits.push(milliseconds);
    queueMicrotask(wake);
  }) as typeof setTimeout);
});

afterEach(() => jest.restoreAllMocks());

/** Sends a request that gets 503 with these headers until it gives up. */
async function ask(headers: Record<string, string>, maxWait = Infinity): Promise<void> {
  const send = retryingFetch(() => Promise.resolve(new Response('', { status: 503, headers })), {
    retries: ATTEMPTS,
    maxWait,
  });
  expect((await send('http://localhost/')).status).toBe(503);
}

const DATE = new Date(Date.now() + 60_000).toUTCString();

it.each([
  ['seconds', '12', 12_000, 12_000],
  ['no seconds', '0', 0, 0],
  ['a date', DATE, 50_000, 60_000],
  ['a date that is past', 'Thu, 01 Jan 1970 00:00:00 GMT', 0, 0],
  ['a word', 'soon', 0, 0],
  ['less than nothing', '-5', 0, 0],
  ['a fraction', '1.5', 0, 0],
])(
  'waits at least as long as Retry-After says, and a different time for each retry while: %s',
  async (_case, value, least, most) => {
    await ask({ 'Retry-After': value });
    expect(waits).toHaveLength(ATTEMPTS);
    expect(new Set(waits.map((wait) => wait % 1)).size).toBe(ATTEMPTS);
    for (const [attempt, wait] of waits.entries()) {
      expect(wait).toBeGreaterThanOrEqual(least);
      expect(wait).toBeLessThanOrEqual(most + Math.min(500 * 2 ** attempt, 8000));
    }
  },
);

it('limits the total time of its retries', async () => {
  await ask({ 'Retry-After': '12' }, 90_000);
  expect(waits.length).toBeGreaterThanOrEqual(4);
  expect(waits.reduce((sum, wait) => sum + wait)).toBeLessThanOrEqual(90_000);
  waits = [];
  await ask({ 'Retry-After': '99999999999' }, 90_000);
  expect(waits).toEqual([]);
});
