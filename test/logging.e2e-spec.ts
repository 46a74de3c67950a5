import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { generateToken } from '../src/platform/auth/token-format.js';
import { Api, type ProblemBody } from './support/api.js';
import { preload } from './support/doctor.js';
import { freePort } from './support/free-port.js';
import { type LogLine, runCli, ServiceProcess } from './support/process.js';
import { eventually } from './support/eventually.js';
import { request, sendRaw } from './support/raw-http.js';
import { Scrape } from './support/scrape.js';
import { createTestDatabase } from './support/test-database.js';
import { declareToken } from './support/tokens.js';

const AWAY = { DATABASE_URL: 'postgres://postgres@127.0.0.1:1/items' };

it('writes one JSON line per request, without token, query or body [refusal-reason-logged] [problem-in-log] [request-id-in-log] [refusal-in-log] [probes-logged-at-debug]', async () => {
  const { environment } = await createTestDatabase();
  const { token, variables } = await declareToken();
  const service = await ServiceProcess.startReady({ ...environment, ...variables });
  const client = service.client(token);

  const { headers } = await client.create({ name: 'a secret name' });
  await client.list('limit=0&cursor=secret');
  await client.send('GET', '/v1/items', {
    headers: { Authorization: `Bearer ${token.slice(0, -1)}`, 'X-Request-Id': 'mine' },
  });
  await client.call('GET', '/v1/nothing');
  await client.call('GET', `/v1/items?access_token=${token}`);
  await client.create({ 'a secret': 1, 'another secret': 2 });
  for (const probe of ['/livez', '/readyz']) expect((await client.send('GET', probe)).status).toBe(200);
  expect(await service.end('SIGTERM')).toBe(0);

  // Probes that fail, before the service is ready, are logged.
  const requests = service.linesOf('request').filter(({ route, status }) => route !== '/readyz' || status !== 503);
  const [principalId = ''] = service.linesOf('token.declared').map(({ tokenId }) => tokenId);
  const line = (expected: Partial<LogLine>) => ({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    service: 'items',
    msg: 'request',
    requestId: expect.any(String),
    durationMs: expect.any(Number),
    route: '/v1/items',
    path: '/v1/items',
    ...expected,
  });
  expect(requests).toEqual([
    line({ principalId, method: 'POST', status: 201, requestId: headers.get('x-request-id') }),
    line({ principalId, method: 'GET', status: 400, problem: 'invalid-parameters', codes: ['range', 'cursor'] }),
    line({
      method: 'GET',
      status: 401,
      requestId: 'mine',
      refusal: { reason: 'checksum', address: '127.0.0.1' },
      problem: 'unauthorized',
    }),
    line({ route: '/{*path}', path: '/v1/nothing', principalId, method: 'GET', status: 404, problem: 'not-found' }),
    line({ principalId, method: 'GET', status: 400, problem: 'invalid-parameters', codes: ['unknown'] }),
    line({ principalId, method: 'POST', status: 400, problem: 'invalid-body', codes: ['unknown', 'required'] }),
  ]);
  const everything = JSON.stringify(service.log);
  expect(everything).not.toContain(token.slice(6, 36));
  expect(everything).not.toContain('secret');
});

it('starts the line of a request with the method, path and status on a terminal', async () => {
  const service = ServiceProcess.spawn({ LOG_FORMAT: 'pretty', ...AWAY });
  await eventually(() => service.origin !== '');
  await service.client(generateToken()).send('GET', '/readyz?secret');
  expect(await service.end('SIGTERM')).toBe(0);
  expect(service.output.stdout).toMatch(
    /^\[[\d:.]+\] INFO: GET \/readyz 503 \d+ ms \{"requestId":"[^"]+","route":"\/readyz","problem":"service-unavailable"\}$/m,
  );
});

it('continues when its log cannot be written, counts dropped lines, and reports that once', async () => {
  const { environment } = await createTestDatabase();
  const { token, variables } = await declareToken();
  const [PORT, METRICS_PORT] = [String(await freePort()), String(await freePort())];
  const service = ServiceProcess.spawn({ ...environment, ...variables, PORT, METRICS_PORT }, '/dev/full');
  const api = new Api(`http://127.0.0.1:${PORT}`, token);
  await eventually(async () => (await api.send('GET', '/readyz').catch(() => undefined))?.status === 200);
  expect((await api.create({ name: 'x' })).status).toBe(201);
  expect((await api.list()).body.items).toHaveLength(1);
  expect((await Scrape.from(Number(METRICS_PORT))).sum('items_log_lines_dropped_total')).toBeGreaterThan(3);
  expect(await service.end('SIGTERM')).toBe(0);
  expect(service.output.stderr).toBe('Log lines are dropped: Error: ENOSPC: no space left on device, write\n');
});

describe('while the database is away', () => {
  let service: ServiceProcess;
  let token: string;

  beforeAll(async () => {
    const declared = await declareToken();
    token = declared.token;
    service = await ServiceProcess.start({ ...AWAY, ...declared.variables, LOG_LEVEL: 'debug' });
  });

  afterAll(async () => expect(await service.end('SIGTERM')).toBe(0));

  /** Waits for the line of a probe, which follows those of the requests before. */
  async function logProbe(id: string): Promise<void> {
    await service.client(token).send('GET', '/livez', { headers: { 'X-Request-Id': id } });
    await eventually(() => service.linesOf('request').some(({ requestId }) => requestId === id));
  }

  it('gives each line the id of its request, also if several end at once', async () => {
    const ask = async (id: string) =>
      service.client(token).send('GET', `/v1/${id}`, { headers: { Authorization: `Bearer ${token}`, 'X-Request-Id': id } });
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(Array.from({ length: 16 }, (_, index) => ask(`r-${round}-${index}`)));
    }
    const logged = () => service.linesOf('request').filter(({ path }) => String(path).startsWith('/v1/r-'));
    await eventually(() => logged().length >= 160);
    await logProbe('after-all');
    expect(logged().map(({ requestId }) => `/v1/${String(requestId)}`)).toEqual(logged().map(({ path }) => path));
    expect(logged()).toHaveLength(160);
  });

  it('logs the cause of an error once, in a separate line, with source positions in stacks', async () => {
    const { body } = await service.client(generateToken()).list<ProblemBody>();
    expect(body.status).toBe(503);
    await eventually(() => service.has('database not ready'));
    await logProbe('after-error');
    expect(service.linesOf('request').at(-1)).toMatchObject({ level: 'debug', route: '/livez', status: 200 });
    const lines = service.log.filter(({ requestId, level }) => requestId === body.requestId && level !== 'debug');
    expect(lines).toMatchObject([
      { level: 'warn', context: 'Problem', msg: 'The database is not available.' },
      { level: 'info', msg: 'request', status: 503 },
    ]);
    const connecting = service.log.find(({ msg }) => msg === 'database not ready');
    expect(connecting).toMatchObject({ reason: expect.stringContaining('ECONNREFUSED') });

    const { err } = service.log.find((line) => line['err'] !== undefined) as unknown as {
      err: { type: string; stack: string };
    };
    const [, file = '', line, column] = /\/(src\/[\w/-]+\.ts):(\d+):(\d+)\)/.exec(err.stack) ?? [];
    const source = readFileSync(file, 'utf8').split('\n')[Number(line) - 1];
    expect(source?.slice(Number(column) - 1)).toMatch(new RegExp(`^new ${err.type}`));
  });

  it('cuts paths of 15 KB in the log and in problems, also if they are encoded [path-length-shown]', async () => {
    const port = Number(new URL(service.origin).port);
    for (const character of ['a', '"', '%C3%A9', '%']) {
      const line = `GET /${character.repeat(15_000 / character.length)}`;
      for (const [headers, status] of [
        [[], 401],
        [[`Authorization: Bearer ${token}`], 404],
      ] as const) {
        const response = await sendRaw(port, request(line, headers), 'whole');
        const { instance, requestId } = JSON.parse(response.body) as ProblemBody;
        expect(response.status).toBe(status);
        expect(response.body.length).toBeLessThan(1000);
        expect(instance.length).toBeLessThanOrEqual(256);
        expect(decodeURIComponent(instance).length).toBeGreaterThan(40);
        await eventually(() => service.linesOf('request').some((logged) => logged['requestId'] === requestId));
      }
    }
    // The level debug has stacks.
    const lines = service.output.stdout.split('\n').filter((line) => !line.includes('"err":'));
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(1000);
  });
});

describe('SIGUSR2', () => {
  it('logs at the level debug until the second one, sent as from another process of the container [debug-signal]', async () => {
    const service = ServiceProcess.spawn({ ...AWAY, LOG_LEVEL: 'warn' });
    const send = () => execFileSync(process.execPath, ['-e', `process.kill(${service.child.pid},'SIGUSR2')`]);
    const failures = (level: string) =>
      service.linesOf('database not ready').filter(({ level: found }) => found === level).length;
    await eventually(() => failures('warn') > 2);
    expect(failures('debug')).toBe(0);
    send();
    await eventually(() => failures('debug') > 0);
    expect(service.has('log level: debug for five minutes')).toBe(true);
    send();
    await eventually(() => service.has('log level: as configured again'));
    const [debugged, warned] = [failures('debug'), failures('warn')];
    await eventually(() => failures('warn') > warned);
    expect(failures('debug')).toBe(debugged);
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('ends no process that has not begun to handle it [debug-signal]', async () => {
    // When the first signal is handled, long before the application is loaded.
    const early = `process.on('newListener', (name) => { if (name === 'SIGTERM') setTimeout(process.kill, 1, process.pid, 'SIGUSR2') })`;
    const { code, stderr } = await runCli(['token', 'generate'], preload(early));
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('SIGUSR2')]);
  });
});
