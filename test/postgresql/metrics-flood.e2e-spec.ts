import { METHODS } from 'node:http';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOf, generateToken } from '../../src/platform/auth/token-format.js';
import { measured } from '../support/measurements.js';
import { sendAll } from '../support/pipeline.js';
import { type Scrape, startMeasured } from '../support/scrape.js';
import { testDirectory } from '../support/test-database.js';

const REQUESTS = 'items_http_request_duration_seconds_count';

describe('thousands of paths and tokens, and all methods', () => {
  const MANY = 2000;
  const VALID = MANY / 2;
  const range = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index));
  const request = (line: string, token?: string, more = '') =>
    `${line} HTTP/1.1\r\nHost: x\r\n${token === undefined ? '' : `Authorization: Bearer ${token}\r\n`}${more}\r\n`;
  const hostile = [
    () => generateToken(),
    () => generateToken().slice(0, -1),
    (index: number) => `token-${index}`,
    (index: number) => `eyJ${index}.e${index}.s${index}`,
  ];

  /** All that Node parses, but for one that it does not take for a request. */
  const methods = METHODS.filter((method) => method !== 'CONNECT');

  /** Each to a path of its own, with a token of its own, every second one valid. */
  function distinct(valid: readonly string[], count: number): string[] {
    return range(count, (index) => {
      const token = index % 2 === 0 ? valid[index / 2] : hostile[((index - 1) / 2) % hostile.length]?.(index);
      return request(`GET /v1/path-${index}/of?many=${index}`, token);
    });
  }

  /** One of every other kind. */
  function various(token: string): string[] {
    const empty = 'Content-Length: 0\r\n';
    return [
      ...hostile.map((make) => request('GET /v1/items?limit=1', make(0))),
      ...methods.flatMap((method) => [
        request(`${method} /v1/items`, token, empty),
        request(`${method} /v1/items`, undefined, empty),
        request(`${method} /elsewhere`, token, empty),
      ]),
      request('GET /v1/items?limit=0', token),
      request('GET /docs/assets/index.css'),
    ];
  }

  it('make no time series', async () => {
    const tokens = range(VALID, generateToken);
    const path = join(testDirectory(), `tokens-${process.pid}`);
    await writeFile(path, tokens.map((token, index) => `token-${index}:${digestOf(token).toString('hex')}\n`).join(''));
    const flooded = await startMeasured({ AUTH_TOKENS_FILE: path });
    // Those of garbage collections begin with the first one of a kind.
    const samplesOf = (scrape: Scrape) => scrape.samples.filter(({ name }) => !name.startsWith('nodejs_gc_'));
    const seriesOf = (scrape: Scrape) =>
      samplesOf(scrape)
        .map(({ name, labels }) => JSON.stringify([name, labels]))
        .toSorted();

    // One of each kind makes the series that there are.
    await sendAll(flooded.port, [...various(tokens[0] ?? ''), ...distinct(tokens, 8)]);
    const before = await flooded.scrape();
    const begun = performance.now();
    const statuses = await sendAll(flooded.port, distinct(tokens, MANY));
    measured('a flood of distinct paths and tokens', (performance.now() - begun) / 1000, 's');
    await sendAll(flooded.port, various(tokens[1] ?? ''));
    const after = await flooded.scrape();
    await flooded.stop();

    expect(statuses).toEqual({ 404: VALID, 401: VALID });
    expect(after.sum(REQUESTS) - before.sum(REQUESTS)).toBeGreaterThan(MANY);
    expect(seriesOf(after)).toEqual(seriesOf(before));
    measured('time series of a process', after.samples.length, '');
    // On the fallback each of eight methods has few statuses, other routes have one or two methods.
    expect(after.of(REQUESTS).length).toBeLessThan(40);
    expect(after.samples.length).toBeLessThan(1000);
  });
});
