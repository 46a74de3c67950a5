import { generateToken } from '../src/platform/auth/token-format.js';
import { HealthIndicators } from '../src/platform/index.js';
import { Api } from './support/api.js';
import { type Service, startAwayFromDatabase, startService } from './support/service.js';

describe('with a database', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService();
  });

  afterAll(() => service.stop());

  it.each(['/livez', '/readyz'])('%s responds with 200 without a token', async (path) => {
    expect(await service.api.send('GET', path)).toMatchObject({ status: 200, body: { status: 'ok' } });
  });

  it('is not ready while an indicator of a feature fails, and names it', async () => {
    let isWell = true;
    const check = () => (isWell ? Promise.resolve() : Promise.reject(new Error('secret cause')));
    service.app.get(HealthIndicators).add('warehouse', check);
    expect((await service.api.send('GET', '/readyz')).status).toBe(200);
    isWell = false;
    const { status, body, headers } = await service.api.send('GET', '/readyz');
    expect([status, body.detail, headers.get('retry-after')]).toEqual([503, 'Not ready: warehouse.', '1']);
    expect((await service.api.send('GET', '/livez')).status).toBe(200);
    isWell = true;
  });
});

describe('an indicator that is wrong itself', () => {
  it.each<[string, () => Promise<void>]>([
    ['throws', () => fail()],
    ['never ends', () => new Promise<void>(() => undefined)],
  ])('makes the service unready, and no probe hang: it %s', async (_case, check) => {
    const service = await startService();
    service.app.get(HealthIndicators).add('wrong', check);
    const { status, body } = await service.api.send('GET', '/readyz');
    expect([status, body.detail]).toEqual([503, 'Not ready: wrong.']);
    await service.stop();
  });
});

function fail(): never {
  throw new Error('before there is a promise');
}

describe('without a database from the start', () => {
  it('stays up, lives, is not ready, and responds with 503 to tokens that could be valid', async () => {
    const service = await startAwayFromDatabase();
    const api = new Api(service.origin, generateToken());
    try {
      expect((await api.send('GET', '/livez')).status).toBe(200);
      expect((await api.send('GET', '/readyz')).status).toBe(503);
      for (const answer of [await api.list(), await api.create({ name: 'x' })]) {
        expect(answer.status).toBe(503);
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      }
      expect((await new Api(service.origin, 'items_mistyped').list()).status).toBe(401);
    } finally {
      await service.stop();
    }
  });
});
