import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { runCli, ServiceProcess } from './support/process.js';
import { eventually } from './support/service.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';

let database: TestDatabase;
let token: string;

beforeAll(async () => {
  database = await createTestDatabase();
  token = (await runCli(['token', 'issue', '--name', 'x'], database.environment)).stdout.trim();
});

afterAll(() => database.drop());

/** A create whose body is being read: the service asks for it only then. */
async function openCreate(service: ServiceProcess) {
  const body = '{"name":"in flight"}';
  const { hostname, port } = new URL(service.origin);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.on('data', (chunk) => (answer += chunk.toString()));
  const head = ['POST /v1/items HTTP/1.1', 'Host: x', `Authorization: Bearer ${token}`, 'Content-Type: application/json'];
  socket.write(`${head.join('\r\n')}\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`);
  await eventually(() => answer === 'HTTP/1.1 100 Continue\r\n\r\n');
  answer = '';
  socket.write(body.slice(0, 5));
  return { socket, finish: () => socket.write(body.slice(5)), answer: () => answer };
}

describe.each(['SIGTERM', 'SIGINT'] as const)('%s', (signal) => {
  it('lets requests in flight finish, closes idle connections, refuses new ones, and exits with code 0', async () => {
    const service = await ServiceProcess.startReady(database.environment);
    const agent = new Agent({ keepAlive: true });
    const idle = request(`${service.origin}/livez`, { agent }).end();
    const [response] = (await once(idle, 'response')) as [NodeJS.ReadableStream];
    response.resume();
    const begun = connect(Number(new URL(service.origin).port), '127.0.0.1').on('error', () => undefined);
    begun.write('GET /livez HT');
    const create = await openCreate(service);

    const ended = service.end(signal);
    await delay(300);
    await expect(fetch(`${service.origin}/livez`)).rejects.toThrow();
    expect([service.child.exitCode, create.answer()]).toEqual([null, '']);
    create.finish();
    expect(await ended).toBe(0);
    expect(create.answer()).toMatch(/^HTTP\/1\.1 201 /);
    expect(service.has('Requests were still in flight')).toBe(false);
    agent.destroy();
    begun.destroy();

    const next = await ServiceProcess.startReady(database.environment);
    expect((await next.client(token).list()).body.items[0]?.name).toBe('in flight');
    await next.end('SIGKILL');
  });
});

describe('SHUTDOWN_TIMEOUT', () => {
  it('bounds how long a request that never finishes can hold the process', async () => {
    const service = await ServiceProcess.startReady({ ...database.environment, SHUTDOWN_TIMEOUT: '0.5' });
    const create = await openCreate(service);
    expect(await service.end('SIGTERM')).toBe(0);
    expect(service.has('Requests were still in flight')).toBe(true);
    create.socket.destroy();
  });
});
