import { writeFile } from 'node:fs/promises';
import { Agent, METHODS, request } from 'node:http';
import { join } from 'node:path';
import { digestOf, generateToken } from '../../src/platform/auth/token-format.js';
import { answerTo } from '../support/http-client.js';
import { measured } from '../support/measurements.js';
import { type Scrape, startMeasured } from '../support/scrape.js';
import { testDirectory } from '../support/test-database.js';

const REQUESTS = 'items_http_request_duration_seconds_count';
const MANY = 2000;
const range = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index));

type Call = [method: string, target: string, token?: string | undefined];

const hostile = [
  () => generateToken(),
  () => generateToken().slice(0, -1),
  (index: number) => `token-${index}`,
  (index: number) => `eyJ${index}.e${index}.s${index}`,
];

/** Each to a path of its own, with a token of its own, every second one valid. */
function distinct(valid: readonly string[], count: number): Call[] {
  return range(count, (index) => {
    const token = index % 2 === 0 ? valid[index / 2] : hostile[((index - 1) / 2) % hostile.length]?.(index);
    return ['GET', `/v1/path-${index}/of?many=${index}`, token];
  });
}

/** One of every other kind, with all methods that Node takes for a request. */
function various(token: string): Call[] {
  const methods = METHODS.filter((method) => method !== 'CONNECT');
  return [
    ...hostile.map((make): Call => ['GET', '/v1/items?limit=1', make(0)]),
    ...methods.map((method): Call => [method, '/v1/items', token]),
    ...methods.map((method): Call => [method, '/v1/items']),
    ...methods.map((method): Call => [method, '/elsewhere', token]),
    ['GET', '/v1/items?limit=0', token],
    ['GET', '/docs/assets/index.css'],
  ];
}

it('thousands of paths and tokens, and all methods, make no time series', async () => {
  const tokens = range(MANY / 2, generateToken);
  const path = join(testDirectory(), `tokens-${process.pid}`);
  await writeFile(path, tokens.map((token, index) => `token-${index}:${digestOf(token).toString('hex')}\n`).join(''));
  const flooded = await startMeasured({ AUTH_TOKENS_FILE: path });
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const send = async ([method, target, token]: Call) => {
    const headers = { 'Content-Length': 0, ...(token !== undefined && { Authorization: `Bearer ${token}` }) };
    const outgoing = request(`${flooded.api.origin}${target}`, { agent, method, headers });
    const { response } = await answerTo(outgoing.end());
    return response.statusCode;
  };
  const sendAll = (calls: readonly Call[]) => Promise.all(calls.map(send));
  // Those of garbage collections begin with the first one of a kind.
  const seriesOf = ({ samples }: Scrape) =>
    samples
      .filter(({ name }) => !name.startsWith('nodejs_gc_'))
      .map(({ name, labels }) => JSON.stringify([name, labels]))
      .toSorted();

  // One of each kind makes the series that there are.
  await sendAll([...various(tokens[0] ?? ''), ...distinct(tokens, 8)]);
  const before = await flooded.scrape();
  const statuses = await sendAll(distinct(tokens, MANY));
  await sendAll(various(tokens[1] ?? ''));
  const after = await flooded.scrape();
  agent.destroy();
  await flooded.stop();

  expect(statuses).toEqual(range(MANY, (index) => (index % 2 === 0 ? 404 : 401)));
  expect(after.sum(REQUESTS) - before.sum(REQUESTS)).toBeGreaterThan(MANY);
  expect(seriesOf(after)).toEqual(seriesOf(before));
  measured('time series of a process', after.samples.length, '');
  // On the fallback each of eight methods has few statuses, other routes have one or two methods.
  expect(after.of(REQUESTS).length).toBeLessThan(40);
  expect(after.samples.length).toBeLessThan(1000);
});
