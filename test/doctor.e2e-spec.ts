import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { runCommand } from './support/commands.js';
import { doctor, examined, preload } from './support/doctor.js';
import { freePort } from './support/free-port.js';
import { IdentityProvider } from './support/identity-provider.js';
import { listen } from './support/listen.js';
import { runCli, ServiceProcess } from './support/process.js';
import { redisOfVersion, refusingPostgres } from './support/refusing-servers.js';
import { createEmbedded, testDirectory } from './support/test-database.js';
import { declareToken } from './support/tokens.js';

let DATA_DIR: string;

beforeAll(async () => {
  DATA_DIR = join(await mkdtemp(join(testDirectory(), 'doctor-')), 'not', 'there');
});

it('prints a line for each check, or JSON, and nothing else; its exit code says what was found [doctor-exit-code] [doctor-json]', async () => {
  const shared = { DATA_DIR, PORT: '0', METRICS_PORT: '0', RATE_LIMIT_REPLICAS: '3' };
  const [lenient, strict] = await Promise.all([runCli(['doctor'], shared), doctor(shared, '--strict')]);
  expect(strict.outcome).toEqual([1, 'warn', '']);
  expect([lenient.code, lenient.stderr]).toEqual([0, '']);
  expect(lenient.stdout).toMatch(
    /^ok {4}configuration {8}valid\n(?:ok {4}.*\n)+warn {2}limiter\.connection {3}REDIS_URL is unset, .* 3\n {27}→ Set.*\nok .*\n$/,
  );
  expect(existsSync(DATA_DIR)).toBe(false);
});

it('fails if what it found cannot be written', () => {
  const out = openSync('/dev/full', 'w');
  const { status } = spawnSync(process.execPath, ['dist/cli.js', 'doctor'], {
    env: { PATH: process.env['PATH'], DATA_DIR, PORT: '0', METRICS_PORT: '0' },
    stdio: ['ignore', out, 'ignore'],
  });
  closeSync(out);
  expect(status).toBe(1);
});

it('names all faults of the settings at once, and looks no further', async () => {
  const wrong = await doctor({ PORT: 'http', DATABASE_URL: 'mysql://user:canary@host', RATE_LIMIT: '0', RATELIMIT: '5' });
  expect([wrong.outcome, wrong.names]).toEqual([[1, 'fail', ''], ['configuration']]);
  expect(wrong.faults).toMatch(
    /PORT must .*\n +DATABASE_URL must .*\n +RATE_LIMIT must [^]*\n +unknown: RATELIMIT \(did you mean RATE_LIMIT\?\)\n/,
  );
});

it.each([
  [{ PORT: '3000', METRICS_PORT: '3000' }, /^fail configuration: [^]*\n {2}METRICS_PORT must differ from PORT\n/],
  [
    { RATELIMIT: '5', METRICS_PORTS: '1', HOME: '/' },
    /^warn configuration\.names: RATELIMIT \(did you mean RATE_LIMIT\?\), METRICS_PORTS \(did .*\) → Correct the names: .*$/,
  ],
  [{ FILTER_TIMEOUT: '4.1' }, /^warn timeouts: .* → Set FILTER_TIMEOUT to 4 at most\.$/],
  // 5 + 4 seconds of the database behind a delay of 5, in nine tenths.
  [{ SHUTDOWN_TIMEOUT: '15' }, /^warn timeouts: .* → Set SHUTDOWN_TIMEOUT to 16 or more\.$/],
  [
    { DATA_DIR: '/dev/null/data' },
    /^fail data-directory: \/dev\/null\/data cannot be used: a part of its path is not a directory .*$/,
  ],
  [{ MIGRATE_ON_START: 'false' }, /^fail data-directory: .* has no database yet: run migrate → .*$/],
  [
    { AUTH_TOKENS_FILE: join(process.cwd(), 'package.json') },
    /^fail auth\.tokens-file: line 1 needs a token [^]* → Write one token per line.*$/,
  ],
  [
    { DATA_DIR: '/proc/data' },
    /^fail data-directory: \/proc\/data has no database yet: it needs 64 MiB, and the disk has 0 MiB left .*$/,
  ],
])('of %j it finds %s', async (environment, faults) => {
  expect((await examined({ DATA_DIR, ...environment })).faults).toMatch(faults);
});

it('opens a data directory that is free, and leaves alone one that is in use, or of another user', async () => {
  const database = await createEmbedded('empty');
  const files = readdirSync(database.environment.DATA_DIR);
  const foreign = await doctor({ ...database.environment, ...preload('process.getuid = () => 4711') });
  expect(foreign.faults).toMatch(/^fail data-directory: .* was not opened: run doctor as its owner.*$/);
  expect(readdirSync(database.environment.DATA_DIR)).toEqual(files);

  const waiting = await examined({ ...database.environment, MIGRATE_ON_START: 'false' });
  expect(waiting.faults).toMatch(/^warn database\.migrations: pending: CreateAccessTokens\d+, .*→ Run migrate\.$/);
  const fresh = await examined(database.environment);
  expect(fresh.found['database.migrations']).toMatch(
    /^pending: CreateAccessTokens\d+, .*; run migrate, or start the service$/,
  );

  const { token, variables } = await declareToken();
  const service = await ServiceProcess.startReady({ ...database.environment, ...variables });
  const during = await examined({ ...database.environment, ...variables });
  expect(during.found['data-directory']).toContain('in use by a running service');
  expect(during.found['auth.tokens-file']).toBe(`1 tokens in ${variables.AUTH_TOKENS_FILE}`);
  expect((await service.client(token).create({ name: 'undisturbed' })).status).toBe(201);
  await service.end('SIGTERM');

  const after = await examined(database.environment);
  expect(after.found['database.migrations']).toBe('nothing to apply');
  expect([during.faults, after.faults]).toEqual(['', '']);
});

it('reads a file .env with a byte order mark, and refuses one that is not text in UTF-8 [env-file-checked]', async () => {
  const directory = await mkdtemp(join(testDirectory(), 'env-'));
  const read = async (file: Buffer | string, encoding: BufferEncoding = 'utf8') => {
    await writeFile(join(directory, '.env'), file, encoding);
    return runCommand(['doctor'], { DATA_DIR, METRICS_PORT: '0' }, directory);
  };
  const settings = 'PORT=http\nRATE_LIMIT=none\nMETRICS_PORT=given\n';
  for (const text of [settings, `\ufeff${settings}`]) {
    expect((await read(text)).stdout).toMatch(/is not valid:\n +PORT must .*\n +RATE_LIMIT must .*\n +See/);
  }
  const [nul, invalid] = [Buffer.from([0x50, 0, 0x51]), Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0xff, 0xfe])];
  for (const { code, stdout } of [await read(`\ufeff${settings}`, 'utf16le'), await read(nul), await read(invalid)]) {
    expect(code).toBe(1);
    expect(stdout).toMatch(/^fail {2}configuration {2}The file \.env cannot be read: make it a text file in UTF-8 /);
  }
});

it('shows no control characters of a server, which could change the terminal', async () => {
  const port = await refusingPostgres('barred\u{1b}[2J\r\u{7}\u{202e}\u{9b} here');
  const away = { DATABASE_URL: `postgres://user:canary@127.0.0.1:${port}/x`, PORT: '0', METRICS_PORT: '0' };
  const { code, stdout, stderr } = await runCli(['doctor'], away);
  expect([code, stderr]).toEqual([1, '']);
  expect(stdout).toMatch(/^fail {2}database\.connection .*barred\ufffd\[2J\ufffd{4} here/m);
  expect(stdout).not.toMatch(/[^\P{C}\n]|canary/u);
});

it('compares the version of Redis by its numbers', async () => {
  const found = async (version: string) => {
    const redis = { DATA_DIR, REDIS_URL: `redis://127.0.0.1:${await redisOfVersion(version)}` };
    return (await examined(redis)).faults;
  };
  const [old, later] = await Promise.all(['6.0.20', '10.0.0'].map(found));
  expect(old).toMatch(/^warn limiter\.server: 6\.0\.20, master, .* → Use the master of Redis 6\.2 or newer, .*$/);
  expect(later).toBe('');
});

it("fetches the issuer's keys", async () => {
  const provider = await IdentityProvider.start();
  // The limit of the shutdown is the least that the others allow.
  const limits = { SHUTDOWN_TIMEOUT: '16', FILTER_TIMEOUT: '4' };
  const of = (settings: NodeJS.ProcessEnv) => examined({ DATA_DIR, ...provider.environment, ...limits, ...settings });
  const port = new URL(provider.issuer).port;
  const issuers = [
    provider.issuer,
    `${provider.issuer}/`,
    `http://127.0.0.1:${await freePort()}`,
    'https://a.invalid',
    `https://localhost:${port}`,
  ];
  const [fine, other, away, unnamed, plain] = await Promise.all(issuers.map((issuer) => of({ AUTH_JWT_ISSUER: issuer })));
  provider.fault = 'error';
  const failing = await of({ AUTH_JWT_JWKS_URL: provider.keysUrl });
  expect([fine?.found['auth.issuer-keys'], fine?.faults]).toEqual([`4 keys of ${provider.issuer}`, '']);
  expect(other?.faults).toMatch(
    /^fail auth\.issuer-keys: The metadata must have "issuer" like AUTH_JWT_ISSUER.* → Check AUTH_JWT_ISSUER.*$/,
  );
  expect(away?.faults).toMatch(
    /^fail auth\.issuer-keys: http:\/\/127\.0\.0\.1:\d+\/\.well-known.* fetch failed connect ECONNREFUSED 127.*$/,
  );
  expect(unnamed?.faults).toMatch(/^fail auth\.issuer-keys: https:\/\/a\.invalid\/.* getaddrinfo E\w+ a\.invalid .*$/);
  expect(plain?.faults).toMatch(/^fail auth\.issuer-keys: https:\/\/localhost:.* fetch failed .*SSL routines.*$/);
  expect(failing.faults).toMatch(/^fail auth\.issuer-keys: .*The status is 500\..*$/);
});

it("fetches the issuer's keys through a proxy, as its advice says", async () => {
  const provider = await IdentityProvider.start();
  // An address that only the proxy reaches.
  const issuer = `http://127.0.0.1:${await freePort()}`;
  provider.metadata = { issuer, jwks_uri: `${issuer}/keys` };
  const proxy = createServer(({ url = '', headers }, response) => {
    const target = new URL(new URL(url).pathname, provider.issuer);
    request(target, { headers: { accept: headers.accept } }, (answer) => answer.pipe(response)).end();
  });
  const proxies = { HTTP_PROXY: `http://127.0.0.1:${await listen(proxy)}`, NO_PROXY: '' };
  const environment = { DATA_DIR, ...provider.environment, AUTH_JWT_ISSUER: issuer, ...proxies };
  const { faults } = await doctor(environment);
  expect(faults).toMatch(/^fail auth\.issuer-keys: .*ECONNREFUSED.* set HTTPS_PROXY and NODE_USE_ENV_PROXY=1\.$/m);
  const { found } = await doctor({ ...environment, NODE_USE_ENV_PROXY: '1' });
  expect(found['auth.issuer-keys']).toBe(`4 keys of ${issuer}`);
});
