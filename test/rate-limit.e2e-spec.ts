import { jest } from '@jest/globals';
import type { Answer } from './support/api.js';
import { startService } from './support/service.js';
import { useService } from './support/use-service.js';

function rateLimitOf({ headers }: Answer<unknown>): { remaining: number; reset: number } {
  const [, remaining, reset] = /^"default";r=(\d+);t=(\d+)$/.exec(headers.get('ratelimit') ?? '') ?? [];
  return { remaining: Number(remaining), reset: Number(reset) };
}

describe('the default limit', () => {
  const service = useService(() => startService({ RATE_LIMIT: '' }));

  it('admits exactly 100 of 150 parallel requests of one token, over both routes, without affecting another token', async () => {
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

  it('counts every authenticated request, including 4xx responses, and reports that in each response', async () => {
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

  it('does not count requests without a token', async () => {
    const client = await service.newClient();
    for (const path of ['/livez', '/readyz', '/openapi.json']) {
      expect((await client.call('GET', path)).headers.get('ratelimit')).toBeNull();
    }
    expect(rateLimitOf(await client.list()).remaining).toBe(99);
  });
});

describe('a limit of 3 in 2 seconds', () => {
  const service = useService(() => startService({ RATE_LIMIT: '3', RATE_LIMIT_WINDOW: '2' }));

  it('slides: a slot becomes free as Retry-After says, and refused requests do not delay it', async () => {
    const client = await service.newClient();
    // Whole, because sums of fractions could be rounded beyond the end of the window.
    let now = Math.ceil(performance.now());
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now);
    await client.list();
    now += 1000;
    await client.list();
    await client.list();
    const refused = await client.list();
    expect(refused.status).toBe(429);
    expect(rateLimitOf(refused)).toEqual({ remaining: 0, reset: 1 });
    expect(refused.headers.get('retry-after')).toBe('1');
    expect((await client.list()).status).toBe(429);
    now += 1000;
    // The first call has left the window, the second and third have not.
    expect([(await client.list()).status, (await client.list()).status]).toEqual([200, 429]);
    clock.mockRestore();
  });
});
