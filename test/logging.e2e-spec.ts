import { readFileSync } from 'node:fs';
import { type LogLine, runCli, ServiceProcess } from './support/process.js';
import { createTestDatabase } from './support/test-database.js';

it('writes one JSON line for each request, and never a token, a query or a body', async () => {
  const database = await createTestDatabase();
  const token = (await runCli(['token', 'issue', '--name', 'logged'], database.environment)).stdout.trim();
  const service = await ServiceProcess.startReady(database.environment);
  const client = service.client(token);

  const { headers } = await client.create({ name: 'a secret name' });
  await client.list('limit=0&cursor=secret');
  await client.send('GET', '/v1/items', { headers: { Authorization: `Bearer ${token.slice(0, -1)}`, 'X-Request-Id': 'mine' } });
  await client.call('GET', '/v1/nothing');
  await client.call('GET', `/v1/items?access_token=${token}`);
  expect(await service.end('SIGTERM')).toBe(0);

  const requests = service.log.filter(({ msg, route }) => msg === 'request' && route !== '/readyz');
  const { stdout } = await runCli(['token', 'list'], database.environment);
  const [tokenId] = /^\S+(?=\tlogged)/m.exec(stdout) ?? [];
  const line = (expected: Partial<LogLine>) => ({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    service: 'items',
    msg: 'request',
    requestId: expect.any(String),
    durationMs: expect.any(Number),
    ...expected,
  });
  const items = { route: '/v1/items', path: '/v1/items' };
  expect(requests).toEqual([
    line({ ...items, tokenId, method: 'POST', status: 201, requestId: headers.get('x-request-id') }),
    line({ ...items, tokenId, method: 'GET', status: 400 }),
    line({ ...items, method: 'GET', status: 401, requestId: 'mine' }),
    line({ route: '/{*path}', path: '/v1/nothing', tokenId, method: 'GET', status: 404 }),
    line({ ...items, tokenId, method: 'GET', status: 400 }),
  ]);
  const everything = JSON.stringify(service.log);
  expect(everything).not.toContain(token.slice(6, 36));
  expect(everything).not.toContain('secret');
  await database.drop();
});

it('is the same in what the image runs: the names of the entry points are fixed', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  expect(scripts['start:prod']).toBe('node dist/main.js');
  expect(scripts['token']).toContain('node dist/cli.js token');
});
