import { randomBytes } from 'node:crypto';
import { Collector } from '../support/collector.js';
import { ServiceProcess } from '../support/process.js';
import { eventually } from '../support/service.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';
import { issueToken } from '../support/tokens.js';

let collector: Collector;
let database: TestDatabase;
let token: string;

beforeAll(async () => {
  collector = await Collector.start();
  database = await createTestDatabase();
  token = await issueToken(database.environment);
});

it.each([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', '', '/v1/traces'],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', '/own', '/own'],
])('exports all spans to %s before the service ends, and logs their ids', async (variable, suffix, expected) => {
  const traceId = randomBytes(16).toString('hex');
  const service = await ServiceProcess.startReady({
    ...database.environment,
    [variable]: collector.environmentWith('user:password@').OTEL_EXPORTER_OTLP_ENDPOINT + suffix,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=key%3D',
  });
  const headers = { traceparent: `00-${traceId}-${'12'.repeat(8)}-01` };
  expect((await service.client(token).call('GET', '/v1/items', { headers })).status).toBe(200);
  expect(await service.end('SIGTERM')).toBe(0);
  expect(service.linesOf('request')).toContainEqual(expect.objectContaining({ traceId, route: '/v1/items' }));
  const { path, headers: sent, body } = collector.received.at(-1) ?? {};
  expect([path, sent?.['x-api-key']]).toEqual([expected, 'key=']);
  expect(sent?.authorization).toBe(`Basic ${btoa('user:password')}`);
  expect(body?.includes(Buffer.from(traceId, 'hex'))).toBe(true);
  // Names and texts are as they are in the encoding.
  const { hostname, pathname } = new URL(databaseUrlOf(database));
  const texts = ['db.namespace', pathname.slice(1), 'server.address', hostname];
  expect(texts.filter((text) => body?.includes(text))).toEqual(texts);
});

it('survives a failing collector, and logs it at most once a minute [collector-down]', async () => {
  const settings = { ...collector.environmentWith(''), OTEL_EXPORTER_OTLP_TIMEOUT: '300' };
  const service = await ServiceProcess.startReady({ ...database.environment, ...settings });
  collector.fault = 500;
  const client = service.client(token);
  // More spans than the 2048 of the queue.
  for (let round = 0; round < 15; round += 1) await Promise.all(Array.from({ length: 50 }, () => client.list()));
  expect((await client.list()).status).toBe(200);
  await eventually(() => service.has('traces not exported'));
  expect(await service.end('SIGTERM')).toBe(0);
  expect(service.linesOf('traces not exported')).toHaveLength(1);
  expect(service.has('last traces not exported')).toBe(true);
});

it('ends in time when the collector does not respond [collector-down]', async () => {
  const settings = { ...collector.environmentWith(''), DATABASE_URL: 'postgres://127.0.0.1:1/items', SHUTDOWN_TIMEOUT: '4' };
  const service = await ServiceProcess.start(settings);
  collector.fault = 'silence';
  expect((await fetch(`${service.origin}/livez`)).status).toBe(200);
  expect(await service.end('SIGTERM')).toBe(0);
  // Not cut off by SHUTDOWN_TIMEOUT, after which it could not say so.
  expect(service.has('last traces not exported')).toBe(true);
});
