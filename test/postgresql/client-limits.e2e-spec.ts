import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { tokenDigest } from '../../src/platform/auth/token-format.js';
import { newId } from '../../src/platform/ids/id.js';
import type { ProblemBody } from '../support/api.js';
import { open, sendAllThenRead, sendEndlessBody } from '../support/flood.js';
import { ServiceProcess } from '../support/process.js';
import { connectTo } from '../support/connect.js';
import { request, sendRaw } from '../support/raw-http.js';
import { eventually } from '../support/service.js';
import { makeFilterSlow, runningFilters, SLOW_FILTER } from '../support/slow-filter.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';
import { issueToken, issueTokens } from '../support/tokens.js';

const MEGABYTE = 2 ** 20;

let database: TestDatabase;
let token: string;
let client: Client;
/** With the limits as they are by default. */
let usual: Awaited<ReturnType<typeof start>>;
/** Where a client reads nothing for 30 seconds, beside all other tests. */
let stalling: Awaited<ReturnType<typeof start>>;
/** One that reads nothing of its responses, one that sends nothing, one that is kept alive, one that reads slowly. */
let awaited: Socket[];
/** Bytes that the slow client has read. */
let read = 0;

async function start(environment: NodeJS.ProcessEnv = {}) {
  const service = await ServiceProcess.startReady({ ...database.environment, ...environment });
  return { service, port: Number(new URL(service.origin).port) };
}

const get = (target: string, credential?: string) =>
  `GET ${target} HTTP/1.1\r\nHost: x\r\n${credential === undefined ? '' : `Authorization: Bearer ${credential}\r\n`}\r\n`;

/** A create, for behind another request. */
const create = () =>
  request('POST /v1/items', [`Authorization: Bearer ${token}`, 'Content-Type: application/json'], '{"name":"b"}');

const countItems = async () => (await client.query<{ count: string }>('SELECT count(*) FROM items')).rows;

/** Bytes of memory that a process has. */
const memoryOf = (service: ServiceProcess) =>
  1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${service.child.pid}/status`, 'utf8'))?.[1]);

const CUT = (limit: string) => `items_http_connections_cut_total{limit="${limit}"}`;

/** A list without a filter: 100 items of the largest size, 1.7 MB in UTF-8. */
const LARGE = '/v1/items?limit=100';

beforeAll(async () => {
  database = await createTestDatabase();
  token = await issueToken(database.environment);
  client = await connectTo(databaseUrlOf(database));
  await makeFilterSlow(client, 20_000);
  for (let count = 0; count < 100; count += 1) {
    await client.query('INSERT INTO items VALUES ($1, $2, $3)', [newId(), 'x', '😀'.repeat(4096)]);
  }
  // Connections without a request stay open until the last test.
  [usual, stalling] = await Promise.all([start(), start({ KEEP_ALIVE_TIMEOUT: '3600' })]);
  awaited = await Promise.all(Array.from({ length: 4 }, () => open(stalling.port)));
  const [stalled, , kept, slow] = awaited;
  stalled?.pause().write(get(LARGE, token).repeat(8));
  // Data that it sends is no progress in reading.
  const sending = setInterval(() => stalled?.write('\r\n'), 4000).unref();
  stalled?.on('error', () => undefined).once('close', () => clearInterval(sending));
  kept?.write(get('/livez'));
  slow?.write(get(LARGE, token).repeat(8));
  // 100 KiB a second: slow, and never silent.
  slow?.on('data', (data: Buffer) => {
    read += data.length;
    slow.pause();
    setTimeout(() => slow.resume(), data.length / 100).unref();
  });
});

it('allows at most 16 unread responses on one connection, and the memory of these [pipelined-requests]', async () => {
  const { service, port } = usual;
  // The heap has grown before as far as it does for as many.
  for (let count = 0; count < 16; count += 1) await service.client(token).list({ limit: '100' });
  const before = memoryOf(service);
  const socket = await open(port);
  const closed = once(socket, 'end');
  socket.pause().write(get(LARGE, token).repeat(100));
  await eventually(async () => (await service.metric(CUT('pipelined'))) === 1);
  await delay(1000);
  const grown = memoryOf(service) - before;
  socket.resume();
  await closed;
  expect(grown).toBeLessThan(100 * MEGABYTE);
});

it('keeps one unread response of each connection in memory, however many requests wait behind it [pipelined-in-turn]', async () => {
  const { service, port } = await start({ NODE_OPTIONS: '--max-old-space-size=256' });
  const sockets = await Promise.all(Array.from({ length: 30 }, () => open(port)));
  // As two-byte texts in the heap, all of them would take more than 700 MB.
  for (const socket of sockets) socket.pause().write(get(LARGE, token).repeat(16));
  await delay(5000);
  expect((await fetch(`${service.origin}/livez`)).status).toBe(200);
  const [first, ...others] = sockets;
  for (const socket of others) socket.destroy();
  let text = '';
  first
    ?.setEncoding('latin1')
    .on('data', (data: string) => (text += data))
    .resume();
  await eventually(() => text.split('HTTP/1.1 200 ').length > 16);
  first?.destroy();
  await service.end('SIGKILL');
});

it('sends 16 pipelined responses, and closes the connection at one more [pipelined-requests]', async () => {
  const { service, port } = usual;
  const cut = (await service.metric(CUT('pipelined'))) ?? 0;
  const requests = get('/v1/items?limit=1', token).repeat(15);
  const last = get('/v1/items?limit=1', token).replace(/\r\n$/, 'Connection: close\r\n\r\n');
  const { body } = await sendRaw(port, requests + last);
  // Without the first one.
  expect(body.match(/HTTP\/1\.1 200 /g)).toHaveLength(15);
  expect(await service.metric(CUT('pipelined'))).toBe(cut);
  expect((await sendRaw(port, requests + requests)).status).toBe(0);
  expect(await service.metric(CUT('pipelined'))).toBe(cut + 1);
});

it('discards at most 16 MiB of the body of a refused request, and closes its connection five seconds later [refused-body-discarded]', async () => {
  const chunked = 'Host: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n';
  const { service, port } = await start({ RATE_LIMIT: '4' });
  const [reader = '', limited = ''] = await issueTokens(databaseUrlOf(database), 2);
  await client.query(`UPDATE access_tokens SET scopes = '{items:read}' WHERE digest = decode($1, 'hex')`, [
    tokenDigest(reader),
  ]);
  for (let count = 0; count < 4; count += 1) await service.client(limited).list({ limit: '1' });
  const requests: [status: number, line: string, token?: string | undefined, more?: string][] = [
    [401, 'POST /v1/items'],
    [403, 'POST /v1/items', reader],
    [413, 'POST /v1/items', token],
    [404, 'POST /nowhere', token],
    [405, 'PUT /v1/items', token],
    [400, 'POST /v1/items', token, 'Content-Type: application/xml\r\n'],
    [429, 'POST /v1/items', limited],
    [431, 'POST /v1/items', undefined, `Long: ${'a'.repeat(20_000)}\r\n`],
  ];
  const bodies = await Promise.all(
    requests.map(([, line, credential, more = '']) => {
      const authorization = credential === undefined ? '' : `Authorization: Bearer ${credential}\r\n`;
      return sendEndlessBody(port, `${line} HTTP/1.1\r\n${more}${chunked}${authorization}\r\n`, 20);
    }),
  );
  for (const [place, { head, taken, lingered }] of bodies.entries()) {
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${requests[place]?.[0]} `));
    expect(head).toMatch(/\r\nConnection: close\r\n/);
    // Nothing is read behind headers that are too large.
    expect(lingered).toBeGreaterThan(requests[place]?.[0] === 431 ? 500 : 4000);
    // With the buffers of the kernel on both sides, and some margin.
    expect(taken).toBeLessThan(32 * MEGABYTE);
  }
  // Bodies that have arrived whole are no reason to close.
  const whole = await sendRaw(port, 'POST /v1/items HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}');
  expect([whole.status, /^connection: .*$/m.exec(whole.headers)?.[0]]).toEqual([401, 'connection: keep-alive']);
  await service.end('SIGKILL');
});

it('responds to clients that read only after they have sent a large body, and runs nothing behind it [refused-body-response]', async () => {
  const { service, port } = await start({ RATE_LIMIT: '8' });
  const [limited = ''] = await issueTokens(databaseUrlOf(database), 1);
  for (let count = 0; count < 8; count += 1) await service.client(limited).list();
  const before = await countItems();
  const body = `{"name":"${'a'.repeat(8 * MEGABYTE)}"}`;
  const framings = [
    [`Content-Length: ${body.length}`, body],
    ['Transfer-Encoding: chunked', `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`],
  ] as const;
  const requests: [status: number, line: string, token?: string | undefined][] = [
    [401, 'POST /v1/items'],
    [413, 'POST /v1/items', token],
    [404, 'POST /nowhere', token],
    [405, 'PUT /v1/items', token],
    [429, 'POST /v1/items', limited],
  ];
  for (const [framing, sent] of framings) {
    for (const [status, line, credential] of requests) {
      const authorization = credential === undefined ? '' : `Authorization: Bearer ${credential}\r\n`;
      const head = `${line} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${authorization}${framing}\r\n\r\n`;
      const received = await sendAllThenRead(port, `${head}${sent}${create()}`);
      expect(received.match(/^HTTP.*$/gm)).toEqual([expect.stringMatching(`^HTTP/1.1 ${status} `)]);
      expect(received).toMatch(/\}$/);
    }
  }
  expect(await countItems()).toEqual(before);
  await service.end('SIGKILL');
});

it('responds to a client that sends a refused body for three seconds, and reads only then [refused-body-response]', async () => {
  const socket = (await open(usual.port)).pause();
  socket.write('POST /v1/items HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n');
  for (let count = 0; count < 30; count += 1) {
    await delay(100);
    socket.write('a'.repeat(100_000));
  }
  expect(await readText(socket)).toMatch(/^HTTP\/1\.1 401 .*\}$/s);
});

it('responds to a refused request when its body has arrived, a second later, or before the body if the client waits [refused-body-response]', async () => {
  const head = 'POST /v1/items HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n';
  const begin = async (sent: string) => {
    const socket = await open(usual.port);
    const began = performance.now();
    const response = once(socket, 'data').then(([data]) => [String(data).slice(9, 12), performance.now() - began] as const);
    socket.write(sent);
    return { socket, response };
  };
  const [early, late, waiting] = await Promise.all([
    begin(`${head}\r\n{"name":`),
    begin(`${head}\r\n`),
    begin(`${head}Expect: 100-continue\r\n\r\n`),
  ]);
  expect(await Promise.race([early.response, delay(300)])).toBeUndefined();
  early.socket.write('"0123456789"');
  const responses = await Promise.all([early, late, waiting].map(({ response }) => response));
  expect(responses.map(([status]) => status)).toEqual(['401', '401', '401']);
  const [, [, time], [, waitingTime]] = responses as [[string, number], [string, number], [string, number]];
  expect(time).toBeGreaterThan(900);
  expect(Math.max(responses[0]?.[1] ?? Infinity, waitingTime)).toBeLessThan(900);
  const before = await countItems();
  // A request behind a body that comes after the response.
  late.socket.write(`{"name":"0123456789"${create()}`);
  await delay(500);
  expect(await countItems()).toEqual(before);
  [early, waiting].forEach(({ socket }) => socket.destroy());
});

describe('costly filters', () => {
  it('of one token do not block those of others, also behind a first page that was quick [filters-at-once]', async () => {
    const { service } = usual;
    const attacker = service.client(token);
    const [victim = ''] = await issueTokens(databaseUrlOf(database), 1);
    const isServed = async () => {
      const api = service.client(victim);
      const calls = [
        api.list({ filter: 'name == "nope"' }),
        api.list(),
        api.create({ name: 'x' }),
        api.send('GET', '/readyz'),
      ];
      expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200, 201, 200]);
    };
    const costlyOnes = Promise.all(Array.from({ length: 30 }, () => attacker.list({ filter: SLOW_FILTER })));
    await eventually(async () => ((await service.metric('items_filters_waiting')) ?? 0) >= 20);
    await isServed();
    // Another one is tried for a moment, and PostgreSQL counts one that it has canceled until it is idle again.
    const running = [];
    for (let count = 0; count < 5; count += 1) {
      running.push(await runningFilters(client));
      await delay(50);
    }
    expect(Math.min(...running)).toBeLessThanOrEqual(2);
    const statuses = (await costlyOnes).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([400, 503]));

    for (let count = 0; count < 2; count += 1) await attacker.create({ name: 'newest' });
    const filter = `name == "newest" || (${SLOW_FILTER})`;
    let cursor = '';
    for (let count = 0; count < 3; count += 1) {
      cursor = (await attacker.list({ filter, limit: '1' })).body.nextCursor ?? '';
    }
    const behind = Promise.all(Array.from({ length: 20 }, () => attacker.list({ filter, cursor })));
    for (let count = 0; count < 10; count += 1) await isServed();
    expect(new Set((await behind).map(({ status }) => status))).toEqual(new Set([400, 503]));
  });

  it('of many tokens hold up neither filters of others that are new nor those that were quick', async () => {
    const { service } = usual;
    const [known = '', ...tokens] = await issueTokens(databaseUrlOf(database), 30);
    const attackers = tokens.slice(0, 20).map((each) => service.client(each));
    expect((await service.client(known).list({ filter: 'name == "known"' })).status).toBe(200);
    // Each filter is another one, and each takes until its time limit.
    const costly = (length: number) => `description.contains("${'a'.repeat(1900 - length)}b")`;
    const attack = Promise.all(
      attackers.flatMap((api, index) => [0, 1, 2].map((n) => api.list({ filter: costly(index * 3 + n) }))),
    );
    await eventually(async () => ((await service.metric('items_filters_waiting')) ?? 0) >= 15);
    const others = tokens.slice(20).flatMap((each, index) => {
      const api = service.client(each);
      return [api.list({ filter: `name == "new ${index}"` }), api.list({ filter: 'name == "known"' })];
    });
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual(others.map(() => 200));
    // Most still waited meanwhile.
    expect(await service.metric('items_filters_running')).toBeGreaterThan(0);
    expect(new Set((await attack).map(({ status }) => status))).toEqual(new Set([400, 503]));
  });

  // Behind a pooler, which needs a URL beside it, no filter shares a connection.
  it.each(['on sessions', 'behind a pooler'])(
    'of a token are refused once they have taken FILTER_BUDGET, and those that were quick are not, %s [filter-budget] [filter-fast-ones-run]',
    async (kind) => {
      const direct = kind === 'on sessions' ? {} : { DATABASE_DIRECT_URL: databaseUrlOf(database) };
      const { service } = await start({ ...direct, FILTER_BUDGET: '0.35', FILTER_TIMEOUT: '0.4', RATE_LIMIT_WINDOW: '4' });
      const api = service.client(token);
      const QUICK = 'name == "quick"';
      expect((await api.list({ filter: QUICK })).status).toBe(200);
      // On sessions tried for a tenth of a second, and then alone.
      expect((await api.list({ filter: SLOW_FILTER })).status).toBe(400);
      const refused = await api.list<ProblemBody>({ filter: SLOW_FILTER });
      expect([refused.status, refused.body.type]).toEqual([429, '/docs/problems#rate-limited']);
      const seconds = refused.headers.get('Retry-After');
      expect(seconds).toMatch(/^[1-4]$/);
      expect(refused.body.detail).toContain(
        `Slow filters of the token have taken their 0.35 s in 4 s. Retry in ${seconds} s,`,
      );
      expect((await api.list({ filter: 'name == "never tried"' })).status).toBe(429);
      expect((await api.list({ filter: QUICK })).status).toBe(200);
      expect((await api.list()).status).toBe(200);
      const [another = ''] = await issueTokens(databaseUrlOf(database), 1);
      expect((await service.client(another).list({ filter: 'name == "never tried"' })).status).toBe(200);
      expect(await service.metric('items_filter_budget_refusals_total')).toBe(2);
      // Within the window, and then no more.
      await eventually(async () => (await api.list({ filter: 'name == "never tried either"' })).status === 200);
      await eventually(async () => (await api.list({ filter: SLOW_FILTER })).status === 400);
      await service.end('SIGKILL');
    },
  );

  it('that wait for a lock take no time of their token', async () => {
    const { service } = await start({ FILTER_BUDGET: '0.5', FILTER_TIMEOUT: '0.8' });
    const api = service.client(token);
    await client.query('BEGIN; LOCK TABLE items IN ACCESS EXCLUSIVE MODE');
    const statuses = [];
    for (let count = 0; count < 4; count += 1) statuses.push((await api.list({ filter: `name == "${count}"` })).status);
    await client.query('ROLLBACK');
    expect(statuses).toEqual([503, 503, 503, 503]);
    expect((await api.list({ filter: 'name == "5"' })).status).toBe(200);
    await service.end('SIGKILL');
  });

  it('are removed or cancelled when their client disconnects [filters-of-gone-clients]', async () => {
    const limits = { FILTER_TIMEOUT: '60', DATABASE_STATEMENT_TIMEOUT: '60', DATABASE_CONNECTION_TIMEOUT: '60' };
    const { service, port } = await start(limits);
    const target = `/v1/items?filter=${encodeURIComponent(SLOW_FILTER)}`;
    const sockets = await Promise.all(Array.from({ length: 10 }, () => open(port)));
    for (const socket of sockets) socket.write(get(target, token));
    await eventually(
      async () => ((await service.metric('items_filters_waiting')) ?? 0) > 0 && (await runningFilters(client)) >= 2,
    );
    // Some clients reset their connections, others close them.
    sockets.forEach((socket, index) => (index % 2 === 0 ? socket.resetAndDestroy() : socket.destroy()));
    // Those that wait end in their turn, at once.
    const left = () => [
      runningFilters(client),
      service.metric('items_filters_waiting'),
      service.metric('items_filters_running'),
    ];
    await eventually(async () => (await Promise.all(left())).every((count) => count === 0), 10);
    // The connections are as good as before.
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => service.client(token).list({ filter: 'name == "nope"' })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    await service.end('SIGKILL');
  });
});

it('closes connections beyond MAX_CONNECTIONS [connections-of-all]', async () => {
  const { service, port } = await start({ MAX_CONNECTIONS: '3' });
  const sockets = await Promise.all(Array.from({ length: 8 }, () => open(port)));
  for (const socket of sockets) socket.resume();
  await eventually(() => sockets.filter(({ readableEnded, destroyed }) => readableEnded || destroyed).length >= 5);
  for (const socket of sockets) socket.destroy();
  await eventually(async () => (await fetch(`${service.origin}/livez`).catch(() => undefined))?.status === 200);
  expect(await service.metric(CUT('max-connections'))).toBeGreaterThanOrEqual(5);
  await service.end('SIGKILL');
});

it('closes the connection of a client that reads nothing for 30 seconds, and no other [unread-response-closed]', async () => {
  await eventually(async () => (await stalling.service.metric(CUT('stalled'))) === 1);
  expect(read).toBeGreaterThan(MEGABYTE);
  for (const socket of awaited.slice(1, 3)) {
    socket.write(get('/livez'));
    const [data] = (await once(socket, 'data')) as [Buffer];
    expect(data.toString()).toMatch(/^HTTP\/1\.1 200 /);
  }
  expect(awaited.map(({ destroyed }) => destroyed).slice(1)).toEqual([false, false, false]);
  for (const socket of awaited) socket.destroy();
});
