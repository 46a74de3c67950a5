import { generateToken } from '../../src/platform/auth/token-format.js';
import { doctor } from '../support/doctor.js';
import { eventually } from '../support/eventually.js';
import { HttpClient } from '../support/http-client.js';
import { type Call, Load, outcomesOf } from '../support/load.js';
import { MountedSecret } from '../support/mounted-secret.js';
import { askingForPasswords, PostgresServer } from '../support/postgres-server.js';
import { runCli, runServiceToEnd, ServiceProcess } from '../support/process.js';
import { issueToken } from '../support/tokens.js';

const REFUSED = 'The server refuses the password of DATABASE_PASSWORD_FILE: the previous one stays in use.';
const UNREADABLE = 'The file of DATABASE_PASSWORD_FILE cannot be read: new connections fail.';

let primary: PostgresServer;
let standby: PostgresServer;
let secret: MountedSecret;
let environment: Record<string, string>;
let token: string;
/** Each has been in force, and must not be shown. */
const passwords: string[] = [];

function newPassword(): string {
  const password = generateToken().slice('items_'.length);
  passwords.push(password);
  return password;
}

const set = (password: string) => primary.query(`ALTER ROLE app PASSWORD '${password}'`);
const urlOf = (server: PostgresServer) => server.url.replace(/postgres@(.*)postgres$/, 'app@$1app');

beforeAll(async () => {
  const settings = askingForPasswords();
  primary = await PostgresServer.start({ ...settings, max_wal_senders: '4' });
  const first = newPassword();
  await primary.query(`CREATE ROLE app LOGIN PASSWORD '${first}'`);
  await primary.query('CREATE DATABASE app OWNER app');
  await primary.query('GRANT EXECUTE ON FUNCTION pg_control_system() TO app');
  standby = await PostgresServer.startStandby(primary, settings);
  secret = new MountedSecret(`${first}\n`);
  environment = { DATABASE_URL: urlOf(primary), DATABASE_PASSWORD_FILE: secret.path };
  token = await issueToken(environment);
});

/** Pages, filters, creates, and unknown tokens, each of which is looked up. */
function sendAll(origin: string): Load {
  let count = 0;
  const clients = Array.from({ length: 8 }, () => new HttpClient(origin, token, true));
  const send = (client: HttpClient) => {
    count += 1;
    switch (count % 4) {
      case 0:
        return client.list('limit=5');
      case 1:
        return client.list(`filter=name%20==%20"${count}"`);
      case 2:
        return client.create(`item ${count}`);
      default:
        return new HttpClient(origin, generateToken(), false).list();
    }
  };
  return new Load(clients, send, 5);
}

const start = (more: NodeJS.ProcessEnv = {}) =>
  ServiceProcess.startReady({
    ...environment,
    AUTH_FAILURE_BURST: '1000000',
    AUTH_FAILURE_RATE: '1000000',
    LOG_LEVEL: 'debug',
    // A busy machine may open connections slowly; a refused password fails at once.
    DATABASE_CONNECTION_TIMEOUT: '60',
    ...more,
  });

/** Times in milliseconds at which the sessions of the service on a server began. */
async function sessions(server: PostgresServer): Promise<number[]> {
  const rows = await server.query<{ began: number }>(
    "SELECT extract(epoch FROM backend_start)::float8 * 1000 AS began FROM pg_stat_activity WHERE usename = 'app'",
  );
  return rows.map(({ began }) => began);
}

/** Ends all sessions of the service, and waits for their end. */
async function killSessions(server: PostgresServer): Promise<void> {
  await server.query("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = 'app'");
}

/** Waits until the service has opened a session on each server since a time: those for lists are replaced after 30 seconds. */
async function opensSessions(since: number): Promise<void> {
  for (const server of [primary, standby]) {
    await eventually(async () => (await sessions(server)).some((began) => began > since), 90);
  }
}

const failed = (calls: readonly Call[]) => calls.filter(({ status }) => ![200, 201, 401].includes(status));

function expectSilence({ output }: ServiceProcess): void {
  const text = output.stdout + output.stderr;
  for (const password of passwords) expect(text).not.toContain(password);
}

it('a password is replaced under load, first in the file, then in the server, and no request fails [password-rotation]', async () => {
  const service = await start({ DATABASE_READ_URL: urlOf(standby) });
  const load = sendAll(service.origin);
  await eventually(() => service.has('replica ready'));
  const second = newPassword();
  secret.update(second);
  // The server still has the first one.
  await opensSessions(Date.now());
  expect(service.has(REFUSED)).toBe(true);
  await set(second);
  await opensSessions(Date.now());
  // With their reason.
  expect(service.log.filter(({ msg }) => msg === 'The database is not available.')).toEqual([]);
  expect(outcomesOf(failed(load.calls))).toEqual({});

  // Both at once, while connections are killed: only what was under way on these may fail.
  const third = newPassword();
  await Promise.all([set(third), Promise.resolve(secret.update(third))]);
  const calls = load.calls.length;
  const killed = Date.now();
  const before = performance.now();
  await Promise.all([primary, standby].map(killSessions));
  const after = performance.now();
  await opensSessions(killed);
  await eventually(() => load.calls.length > calls + 500);
  const all = await load.stop();
  expect(outcomesOf(failed(all).filter(({ sent, received }) => received < before || sent > after + 1000))).toEqual({});
  expect(Object.keys(outcomesOf(all)).toSorted()).toEqual(expect.arrayContaining(['200', '201', '401']));
  expect(Math.min(...(await sessions(primary)))).toBeGreaterThan(killed - 1000);
  expect(await service.end('SIGTERM')).toBe(0);
  expectSilence(service);
}, 300_000);

it('the next password is tried in either order, once there are two, also when connections are made all at once', async () => {
  const service = await start();
  const client = service.client(token);
  for (let round = 0; round < 5; round += 1) {
    const next = newPassword();
    secret.update(next);
    await killSessions(primary);
    await eventually(async () => (await client.list()).status === 200);
    await set(next);
    await killSessions(primary);
    // Its connections have ended for the service, too.
    for (const path of ['/livez', '/livez']) await fetch(service.origin + path);
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) => client.list({ filter: `name == "${index}"` })),
    );
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
  }
  expect(await service.end('SIGTERM')).toBe(0);
  expectSilence(service);
});

it('a file that cannot be read fails new connections only, with 503, and is logged once a minute [password-file-unreadable]', async () => {
  const service = await start();
  const client = service.client(token);
  const current = passwords.at(-1) ?? '';
  // Connections of both kinds.
  expect([(await client.list()).status, (await client.create({ name: 'x' })).status]).toEqual([200, 201]);
  secret.remove();
  expect([(await client.list()).status, (await client.create({ name: 'x' })).status]).toEqual([200, 201]);
  await killSessions(primary);
  await eventually(async () => (await client.list()).status === 503);
  for (let call = 0; call < 5; call += 1) expect((await client.create({ name: 'x' })).status).toBe(503);
  expect(service.linesOf(UNREADABLE).filter(({ level }) => level === 'warn')).toEqual([
    expect.objectContaining({ reason: expect.stringMatching(/ENOENT: .*\/password/) }),
  ]);
  for (const content of ['', '\n']) {
    secret.update(content);
    expect((await client.create({ name: 'x' })).status).toBe(503);
  }
  secret.update(current);
  await eventually(async () => (await client.list()).status === 200 && (await client.create({ name: 'x' })).status === 201);
  expect(await service.end('SIGTERM')).toBe(0);
  expectSilence(service);
});

it('commands read the file, and a start with two passwords, or without one, says what to change [password-file-checked] [password-once]', async () => {
  expect(await runCli(['migrate'], environment)).toMatchObject({ code: 0 });
  expect((await runCli(['token', 'list'], environment)).stdout).toContain('test');
  const direct = { ...environment, DATABASE_DIRECT_URL: urlOf(primary), DATABASE_READ_URL: urlOf(standby) };
  const { found } = await doctor(direct);
  const connected = ['connection', 'direct', 'replica'].map((name) => found[`database.${name}`]);
  expect(connected).toEqual(['connected', 'connected', 'connected']);
  expect(await runCli(['migrate'], direct)).toMatchObject({ code: 0 });

  const wrong = { ...environment, DATABASE_PASSWORD_FILE: new MountedSecret(`${newPassword()}x`).path };
  const refused = await doctor(wrong);
  expect(refused.faults).toMatch(/^fail database\.connection: .*password authentication failed for user "app"/);
  const twice = { ...environment, DATABASE_URL: environment['DATABASE_URL']?.replace('app@', 'app:hunter2@') };
  const missing = { ...environment, DATABASE_PASSWORD_FILE: `${secret.path}/missing` };
  const [first, second, third] = [await runServiceToEnd(twice), await runServiceToEnd(missing), await doctor(missing)];
  expect([first.code, first.stderr]).toEqual([1, expect.stringContaining('remove the password from the URL')]);
  expect([second.code, second.stderr]).toEqual([1, expect.stringContaining(`${secret.path}/missing`)]);
  expect(third.faults).toContain('DATABASE_PASSWORD_FILE must be the path of a file');
  for (const text of [...passwords, 'hunter2']) {
    expect(JSON.stringify([found, refused, first, second, third])).not.toContain(text);
  }
});
