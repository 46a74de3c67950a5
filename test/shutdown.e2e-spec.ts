import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { runCli, ServiceProcess } from './support/process.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';

let database: TestDatabase;
let token: string;

beforeAll(async () => {
  database = await createTestDatabase();
  token = (await runCli(['token', 'issue', '--name', 'x'], database.environment)).stdout.trim();
});

afterAll(() => database.drop());

/** A create whose body has arrived only in part. */
async function openCreate(service: ServiceProcess) {
  const body = '{"name":"in flight"}';
  const { hostname, port } = new URL(service.origin);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.on('data', (chunk) => (answer += chunk.toString()));
  const head = ['POST /v1/items HTTP/1.1', 'Host: x', `Authorization: Bearer ${token}`, 'Content-Type: application/json'];
  socket.write(`${head.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`);
  await once(socket, 'connect');
  return { socket, finish: () => socket.write(body.slice(5)), answer: () => answer };
}

describe.each(['SIGTERM', 'SIGINT'] as const)('%s', (signal) => {
  it('lets requests in flight finish, closes idle connections, refuses new ones, and exits with code 0', async () => {
    const service = await ServiceProcess.startReady(database.environment);
    const agent = new Agent({ keepAlive: true });
    const idle = request(`${service.origin}/livez`, { agent }).end();
    const [response] = (await once(idle, 'response')) as [NodeJS.ReadableStream];
    response.resume();
    const create = await openCreate(service);
    await delay(200);

    const ended = service.end(signal);
    await delay(300);
    await expect(fetch(`${service.origin}/livez`)).rejects.toThrow();
    expect([service.child.exitCode, create.answer()]).toEqual([null, '']);
    create.finish();
    expect(await ended).toBe(0);
    expect(create.answer()).toMatch(/^HTTP\/1\.1 201 /);
    agent.destroy();

    const next = await ServiceProcess.startReady(database.environment);
    expect((await next.client(token).list()).body.items[0]?.name).toBe('in flight');
    await next.end('SIGKILL');
  });
});

describe('SHUTDOWN_TIMEOUT', () => {
  it('bounds how long a request that never finishes can hold the process', async () => {
    const service = await ServiceProcess.startReady({ ...database.environment, SHUTDOWN_TIMEOUT: '0.5' });
    const create = await openCreate(service);
    await delay(200);
    expect(await service.end('SIGTERM')).toBe(0);
    expect(service.has('Requests were still in flight')).toBe(true);
    create.socket.destroy();
  });
});
