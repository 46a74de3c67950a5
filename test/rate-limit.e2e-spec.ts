import { jest } from '@jest/globals';
import { AccessTokensService } from '../src/platform/auth/access-tokens.service.js';
import { type Answer, Api } from './support/api.js';
import { IdentityProvider } from './support/identity-provider.js';
import { startService, TESTER } from './support/service.js';
import { SigningKey } from './support/signing-key.js';
import { useService } from './support/use-service.js';

function rateLimitOf({ headers }: Answer<unknown>): { remaining: number; reset: number } {
  const [, remaining, reset] = /^"default";r=(\d+);t=(\d+)$/.exec(headers.get('ratelimit') ?? '') ?? [];
  return { remaining: Number(remaining), reset: Number(reset) };
}

describe('the default limit', () => {
  const service = useService(() => startService({ RATE_LIMIT: '' }));

  it('admits exactly 100 of 150 parallel requests of one token, over both routes, without affecting another token [rate-limit-per-token] [limit-sliding]', async () => {
    const client = await service.newClient();
    const other = await service.newClient();
    const calls = Array.from({ length: 150 }, (_, index): Promise<Answer<unknown>> =>
      index % 2 ? client.list() : client.create({ name: 'x' }),
    );
    const answers = await Promise.all(calls);
    const admitted = answers.filter(({ status }) => status === 200 || status === 201);
    const refused = answers.filter(({ status }) => status === 429);
    expect([admitted.length, refused.length]).toEqual([100, 50]);
    expect(admitted.map((answer) => rateLimitOf(answer).remaining).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 100 }, (_, index) => index),
    );
    for (const { headers, body } of refused) {
      expect(body).toMatchObject({ type: '/docs/problems#rate-limited', status: 429 });
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60);
    }
    expect((await other.list()).status).toBe(200);
  });

  it('counts every authenticated request, including 4xx responses, and reports that in each response [limit-counts-errors] [limit-headers]', async () => {
    const client = await service.newClient();
    const answers: Answer<unknown>[] = [
      await client.list(),
      await client.create({}),
      await client.post('x'.repeat(70_000)),
      await client.call('GET', '/v1/nothing'),
      await client.call('PUT', '/v1/items'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 413, 404, 405]);
    expect(answers.map((answer) => rateLimitOf(answer).remaining)).toEqual([99, 98, 97, 96, 95]);
    for (const { headers } of answers) expect(headers.get('ratelimit-policy')).toBe('"default";q=100;w=60');
  });

  it('does not count requests without a token [operational-paths-open]', async () => {
    const client = await service.newClient();
    for (const path of ['/livez', '/readyz', '/openapi.json']) {
      expect((await client.call('GET', path)).headers.get('ratelimit')).toBeNull();
    }
    expect(rateLimitOf(await client.list()).remaining).toBe(99);
  });
});

describe('the limit of a caller', () => {
  let provider: IdentityProvider;
  const service = useService(async () => {
    provider = await IdentityProvider.start([await SigningKey.generate('RS256')]);
    return startService({ RATE_LIMIT: '3', ...provider.environment });
  });
  const remaining = async (token: string) => rateLimitOf(await new Api(service.api.origin, token).list()).remaining;

  it('is not that of the token which it replaces [rotated-own-limit]', async () => {
    const tokens = service.app.get(AccessTokensService);
    const { token, row } = await tokens.issue({ name: 'old' }, TESTER);
    expect([await remaining(token), await remaining(token)]).toEqual([2, 1]);
    const next = await tokens.rotate(row.id, { overlap: 60_000 }, TESTER);
    expect([await remaining(next.token), await remaining(token)]).toEqual([2, 0]);
  });

  it('is one for all JWTs of a subject [jwt-limit-by-subject]', async () => {
    const [alice, again, bob] = await Promise.all(
      [{}, { jti: '2' }, { sub: 'bob' }].map((claims) => provider.sign({ scope: 'items:read', ...claims })),
    );
    expect([await remaining(alice ?? ''), await remaining(again ?? ''), await remaining(bob ?? '')]).toEqual([2, 1, 2]);
  });
});

describe('a limit of 3 in 2 seconds', () => {
  const service = useService(() => startService({ RATE_LIMIT: '3', RATE_LIMIT_WINDOW: '2' }));

  it('slides: a slot becomes free as Retry-After says, and refused requests do not delay it [limit-sliding] [limit-refused-free] [limit-retry-after]', async () => {
    const client = await service.newClient();
    // Whole, because sums of fractions could be rounded beyond the end of the window.
    let now = Math.ceil(performance.now());
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now);
    await client.list();
    now += 900;
    await client.list();
    await client.list();
    const refused = await client.list();
    expect(refused.status).toBe(429);
    expect(rateLimitOf(refused)).toEqual({ remaining: 0, reset: 2 });
    expect(refused.headers.get('retry-after')).toBe('2');
    now += 1099;
    const late = await client.list();
    expect([late.status, late.headers.get('retry-after')]).toEqual([429, '1']);
    now += 1;
    // The first call has left the window, the second and third have not.
    expect([(await client.list()).status, (await client.list()).status]).toEqual([200, 429]);
    clock.mockRestore();
  });
});
