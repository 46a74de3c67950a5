import { writeFile } from 'node:fs/promises';
import { Agent, METHODS, request } from 'node:http';
import { join } from 'node:path';
import { digestOf, generateToken } from '../../src/platform/auth/token-format.js';
import { answerTo } from '../support/http-client.js';
import { type Scrape, startMeasured } from '../support/scrape.js';
import { testDirectory } from '../support/test-database.js';

const REQUESTS = 'items_http_request_duration_seconds_count';
const MANY = 2000;
const range = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index));

const hostile = [generateToken, () => generateToken().slice(0, -1), () => 'token', () => 'eyJ.e.s'];

it('creates no time series for thousands of paths and tokens, and all methods', async () => {
  const tokens = range(MANY / 2, generateToken);
  const path = join(testDirectory(), `tokens-${process.pid}`);
  await writeFile(path, tokens.map((token, index) => `token-${index}:${digestOf(token).toString('hex')}\n`).join(''));
  const flooded = await startMeasured({ AUTH_TOKENS_FILE: path });
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const send = async (method: string, target: string, token = '') => {
    const headers = { 'Content-Length': 0, Authorization: `Bearer ${token}` };
    const { response } = await answerTo(request(`${flooded.api.origin}${target}`, { agent, method, headers }).end());
    return response.statusCode;
  };
  /** Sends each request to another path with another token, every second one valid, and then every method that Node accepts. */
  const flood = async (count: number) => {
    const credential = (index: number) => (index % 2 === 0 ? tokens[index / 2] : hostile[((index - 1) / 2) % 4]?.());
    const statuses = await Promise.all(
      range(count, (index) => send('GET', `/v1/path-${index}?many=${index}`, credential(index))),
    );
    const methods = METHODS.filter((method) => method !== 'CONNECT');
    await Promise.all(methods.flatMap((method) => [send(method, '/v1/items', tokens[0]), send(method, '/elsewhere')]));
    return statuses;
  };
  // Series of garbage collections appear with the first one of a kind.
  const seriesOf = ({ samples }: Scrape) =>
    samples.flatMap(({ name, labels }) => (name.startsWith('nodejs_gc_') ? [] : JSON.stringify([name, labels]))).toSorted();

  // One of each kind makes the series that there are.
  await flood(8);
  const before = await flooded.scrape();
  expect(await flood(MANY)).toEqual(range(MANY, (index) => (index % 2 === 0 ? 404 : 401)));
  const after = await flooded.scrape();
  agent.destroy();
  await flooded.stop();

  expect(after.sum(REQUESTS) - before.sum(REQUESTS)).toBeGreaterThan(MANY);
  expect(seriesOf(after)).toEqual(seriesOf(before));
  expect(after.samples.length).toBeLessThan(1000);
});
