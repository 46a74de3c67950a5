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

describe('SHUTDOWN_DELAY', () => {
  it('is how long requests are still taken, each the last on its connection, while the service is not ready', async () => {
    const service = await ServiceProcess.startReady({ ...database.environment, SHUTDOWN_DELAY: '2' });
    const { hostname, port } = new URL(service.origin);
    const kept = connect(Number(port), hostname).setEncoding('utf8');
    const received: string[] = [];
    kept.on('data', (text: string) => received.push(text));
    kept.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    await eventually(() => received.length === 1);
    expect(received[0]).toMatch(/\r\nConnection: keep-alive\r\nKeep-Alive: timeout=65\r\n/);
    const create = await openCreate(service);

    const signalled = performance.now();
    const ended = service.end('SIGTERM');
    await eventually(() => service.has('shutting down'));
    const ready = await service.client(token).send('GET', '/readyz');
    expect([ready.status, ready.body.detail]).toEqual([503, 'Not ready: shutdown.']);
    const { status, headers } = await service.client(token).list();
    expect([status, headers.get('connection')]).toEqual([200, 'close']);
    kept.write(`GET /v1/items HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    await once(kept, 'end');
    expect(received.slice(1).join('')).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*Connection: close\r\n/);
    create.finish();
    await once(create.socket, 'end');
    expect(create.answer()).toMatch(/^HTTP\/1\.1 201 Created\r\n[^]*Connection: close\r\n/);

    expect(await ended).toBe(0);
    expect(performance.now() - signalled).toBeGreaterThanOrEqual(2000);
  });

  it('answers each of the requests that follow each other on one connection, the last one last', async () => {
    const service = await ServiceProcess.startReady({ ...database.environment, SHUTDOWN_DELAY: '2' });
    const { hostname, port } = new URL(service.origin);
    const ended = service.end('SIGTERM');
    await eventually(() => service.has('shutting down'));
    const socket = connect(Number(port), hostname).setEncoding('utf8');
    let received = '';
    socket.on('data', (text: string) => (received += text));
    const create = (name: string) => {
      const body = JSON.stringify({ name });
      const head = ['POST /v1/items HTTP/1.1', 'Host: x', `Authorization: Bearer ${token}`, 'Content-Type: application/json'];
      return `${head.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    };
    socket.write(['first', 'second', 'third'].map(create).join(''));
    await once(socket, 'end');
    const answers = received.split(/(?=HTTP\/1\.1 )/);
    expect(answers.map((answer) => /"name":"(\w+)"/.exec(answer)?.[1])).toEqual(['first', 'second', 'third']);
    expect(answers.map((answer) => answer.includes('Connection: close'))).toEqual([false, false, true]);
    expect(await ended).toBe(0);
  });

  it('is not waited for at a terminal', async () => {
    const service = await ServiceProcess.startReady({ ...database.environment, SHUTDOWN_DELAY: '20' });
    const interrupted = performance.now();
    expect(await service.end('SIGINT')).toBe(0);
    expect(performance.now() - interrupted).toBeLessThan(15_000);
  });
});

describe('a second signal', () => {
  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('%s ends the process at once', async (signal, code) => {
    const service = await ServiceProcess.startReady({ ...database.environment, SHUTDOWN_DELAY: '20' });
    service.child.kill('SIGTERM');
    await eventually(() => service.has('shutting down'));
    await delay(600);
    expect(await service.end(signal)).toBe(code);
    expect(service.has('exiting at once')).toBe(true);
  });

  it('is an echo right after the first one', async () => {
    const service = await ServiceProcess.startReady(database.environment);
    const create = await openCreate(service);
    service.child.kill('SIGINT');
    await eventually(() => service.has('shutting down'));
    const ended = service.end('SIGINT');
    await delay(700);
    create.finish();
    expect(await ended).toBe(0);
    expect(create.answer()).toMatch(/^HTTP\/1\.1 201 /);
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
