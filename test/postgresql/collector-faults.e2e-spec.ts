import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { Collector } from '../support/collector.js';
import { ServiceProcess } from '../support/process.js';
import { eventually } from '../support/service.js';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';
import { issueToken } from '../support/tokens.js';

let collector: Collector;
let database: TestDatabase;
let token: string;

beforeAll(async () => {
  collector = await Collector.start();
  database = await createTestDatabase();
  token = await issueToken(database.environment);
});

afterAll(async () => {
  await collector.stop();
  await database.drop();
});

it('exports all spans before the service ends, and logs their ids', async () => {
  const traceId = randomBytes(16).toString('hex');
  const service = await ServiceProcess.startReady({
    ...database.environment,
    ...collector.environmentWith('user:password@'),
    OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=key%3D',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test%20bed,service.name=ignored',
    OTEL_SERVICE_NAME: 'shop-items',
  });
  const headers = { traceparent: `00-${traceId}-${'12'.repeat(8)}-01` };
  expect((await service.client(token).call('GET', '/v1/items', { headers })).status).toBe(200);
  expect(await service.end('SIGTERM')).toBe(0);
  expect(service.linesOf('request')).toContainEqual(expect.objectContaining({ traceId, route: '/v1/items' }));
  const { path, headers: sent, body } = collector.received.at(-1) ?? {};
  const credentials = [sent?.['x-api-key'], sent?.authorization];
  expect([path, ...credentials]).toEqual(['/v1/traces', 'key=', `Basic ${btoa('user:password')}`]);
  const exported = ['shop-items', '1.0.0', `${hostname()}:${service.child.pid}`, 'test bed', Buffer.from(traceId, 'hex')];
  for (const value of exported) expect(body?.includes(value)).toBe(true);
});

it.each([
  [500, 1, '300'],
  ['silence', 0, '30000'],
] as const)('survives a failing collector, and logs it at most once a minute: %s', async (fault, warnings, timeout) => {
  const settings = { ...collector.environmentWith(''), OTEL_EXPORTER_OTLP_TIMEOUT: timeout };
  const service = await ServiceProcess.startReady({ ...database.environment, ...settings });
  collector.fault = fault;
  const client = service.client(token);
  // More spans than the 2048 of the queue.
  for (let round = 0; round < 15; round += 1) await Promise.all(Array.from({ length: 50 }, () => client.list()));
  expect((await client.list()).status).toBe(200);
  await eventually(() => service.linesOf('traces not exported').length === warnings);
  expect(await service.end('SIGTERM')).toBe(0);
  expect(service.linesOf('traces not exported')).toHaveLength(warnings);
  expect(service.has('last traces not exported')).toBe(true);
});
