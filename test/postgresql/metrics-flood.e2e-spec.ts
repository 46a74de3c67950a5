import { METHODS, request } from 'node:http';
import { generateToken } from '../../src/platform/auth/token-format.js';
import { answerTo } from '../support/http-client.js';
import { type Scrape, startMeasured } from '../support/scrape.js';

it('creates no time series for hundreds of paths and tokens, and all methods [metrics-bounded]', async () => {
  const service = await startMeasured();
  const send = (method: string, path: string, token: string) => {
    const headers = { 'Content-Length': 0, Authorization: `Bearer ${token}` };
    return answerTo(request(service.api.origin + path, { method, headers }).end());
  };
  const flood = async (count: number) => {
    for (let index = 0; index < count; index += 1) {
      const hostile = [generateToken(), generateToken().slice(0, -1), 'token', 'eyJ.e.s'][index % 4] ?? '';
      for (const token of [service.api.token, hostile]) await send('GET', `/v1/path-${index}?many=${index}`, token);
    }
    for (const method of METHODS.filter((name) => name !== 'CONNECT')) {
      await send(method, '/v1/items', service.api.token);
      await send(method, '/elsewhere', '');
    }
  };
  // Series of garbage collections appear with the first one of a kind.
  const seriesOf = ({ samples }: Scrape) =>
    samples.flatMap(({ name, labels }) => (name.startsWith('nodejs_gc_') ? [] : JSON.stringify([name, labels]))).toSorted();

  // One of each kind makes the series that there are.
  await flood(4);
  const before = await service.scrape();
  await flood(500);
  const after = await service.scrape();
  await service.stop();
  const requests = 'items_http_request_duration_seconds_count';
  expect(after.sum(requests) - before.sum(requests)).toBeGreaterThan(1000);
  expect(seriesOf(after)).toEqual(seriesOf(before));
  expect(after.samples.length).toBeLessThan(1000);
});
