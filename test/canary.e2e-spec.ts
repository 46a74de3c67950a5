import { createHash } from 'node:crypto';
import { appendFile, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { Redis } from 'ioredis';
import { DataSource } from 'typeorm';
import { AccessTokensService } from '../src/platform/auth/access-tokens.service.js';
import { tokenDigest, generateToken } from '../src/platform/auth/token-format.js';
import { readConfiguration } from '../src/platform/config/read-configuration.js';
import { dataSourceOptions } from '../src/platform/database/data-source-options.js';
import { Canaries } from './support/canaries.js';
import { asCredential, elsewhere } from './support/canary-requests.js';
import { Collector } from './support/collector.js';
import { preload } from './support/doctor.js';
import { IdentityProvider } from './support/identity-provider.js';
import { MountedSecret } from './support/mounted-secret.js';
import { type Outcome, runCli, runServiceToEnd, ServiceProcess } from './support/process.js';
import { request, sendRaw } from './support/raw-http.js';
import { refusingPostgres, refusingRedis } from './support/refusing-servers.js';
import { eventually, startService, TESTER } from './support/service.js';
import { query } from './support/query.js';
import { createTestDatabase, type TestDatabase, testDirectory } from './support/test-database.js';

const { TEST_DATABASE_URL, TEST_REDIS_URL } = process.env;
const RATE_LIMIT = 200;
const REDIS_KEY_PREFIX = `canary-${process.pid}-${Date.now()}:`;
const sha256 = (text: string) => createHash('sha256').update(text).digest();

const canaries = new Canaries();
/** All output of the service, by source. */
const outputs = new Map<string, string>();
/** Stored data, which may contain the digests of tokens. */
let stored: string;
const statuses = new Set<number>();

/** A password for a URL, and for nothing else. */
function password(name: string): string {
  const value = generateToken().slice('items_'.length);
  canaries.add(`password of ${name}`, value);
  return value;
}

function watchToken(name: string, token = generateToken()): string {
  canaries.add(name, token.slice('items_'.length), token);
  return token;
}

function watchJwt(name: string, jwt: string): string {
  const [, claims = '', signature = ''] = jwt.split('.');
  canaries.add(`claims of ${name}`, claims, jwt);
  canaries.add(`signature of ${name}`, signature, jwt);
  return jwt;
}

/** Trace settings, with secrets in both of their positions. */
function tracing(name: string) {
  const headers = { OTEL_EXPORTER_OTLP_HEADERS: `x-api-key=${password(`a header of ${name}`)}` };
  return { ...collector.environmentWith(`user:${password(name)}@`), ...headers };
}

const list = (token: string) => request('GET /v1/items', [`Authorization: Bearer ${token}`]);

/** Sends raw bytes and keeps the response. */
async function send(origin: string, bytes: string): Promise<void> {
  const { status, headers, body } = await sendRaw(Number(new URL(origin).port), bytes);
  statuses.add(status);
  outputs.set('answers', `${outputs.get('answers') ?? ''}${status}\n${headers}\n\n${body}\n`);
}

function keep(name: string, { stdout, stderr }: Omit<Outcome, 'code'>): void {
  outputs.set(`standard output of ${name}`, stdout).set(`standard error of ${name}`, stderr);
}

/** Requests everything that a service publishes, ends it, and keeps that and its output. */
async function endAfterAll(name: string, service: ServiceProcess): Promise<void> {
  for (const path of ['/', '/openapi.json', '/docs', '/docs/problems', '/readyz', '/livez']) {
    outputs.set(`${path} of ${name}`, await (await fetch(service.origin + path)).text());
  }
  outputs.set(`metrics of ${name}`, await service.metrics());
  expect(await service.end('SIGTERM')).toBe(0);
  keep(name, service.output);
}

/** Tokens in every state, issued as a running service does it: none other could make one that has expired already. */
async function issueTokens(database: TestDatabase) {
  const service = await startService({}, database);
  const { token: valid } = await service.newClient('canary');
  const { token: expired } = await service.newClient('expired', { expiresAt: new Date(Date.now() - 1) });
  const { token: revoked } = await service.newClient('to be revoked');
  expect(await service.app.get(AccessTokensService).revoke({ token: revoked }, TESTER)).toBeDefined();
  await service.stop();
  return { valid, expired, revoked };
}

let tokens: Awaited<ReturnType<typeof issueTokens>>;
let provider: IdentityProvider;
let collector: Collector;

beforeAll(async () => {
  provider = await IdentityProvider.start();
  collector = await Collector.start();
  const late = Math.floor(Date.now() / 1000) - 3600;
  const database = await createTestDatabase();
  tokens = await issueTokens(database);
  const issued = await runCli(['token', 'issue', '--name', 'of the command'], database.environment);
  const foreign = `${(await provider.sign({ sub: 'bob' })).slice(0, -43)}${generateToken()}0`;
  const credentials = {
    valid: watchToken('valid token', tokens.valid),
    expired: watchToken('expired token', tokens.expired),
    revoked: watchToken('revoked token', tokens.revoked),
    command: watchToken('token of the command', issued.stdout.trim()),
    never: watchToken('token that was never issued'),
    mistyped: watchToken('mistyped token', `${generateToken().slice(0, -6)}aaaaaa`),
    malformed: watchToken('malformed token', `${generateToken().replace('_', '-')}!`),
    inFile: watchToken('token of the file'),
    good: watchJwt('a JWT', await provider.sign({ scope: 'items:read items:write' })),
    late: watchJwt('an expired JWT', await provider.sign({ exp: late })),
    foreign: watchJwt('a JWT with another signature', foreign),
  };
  collector.fault = 403;
  await keepAway(Object.values(credentials));
  collector.fault = undefined;

  const AUTH_TOKENS_FILE = join(await mkdtemp(join(testDirectory(), 'tokens-')), 'tokens');
  const digest = tokenDigest(watchToken('digested token of the file'));
  await writeFile(AUTH_TOKENS_FILE, `one:${credentials.inFile}\ntwo:${digest}:items:read\n`, { mode: 0o600 });
  const url = 'DATABASE_URL' in database.environment ? new URL(database.environment.DATABASE_URL) : undefined;
  if (url) url.password ||= password('the database');
  const replica = `postgres://user:${password('a replica that refuses')}@127.0.0.1:${await refusingPostgres()}/items`;
  const environment = url ? { DATABASE_URL: url.href, DATABASE_READ_URL: replica } : database.environment;
  const service = await ServiceProcess.startReady({
    ...environment,
    AUTH_TOKENS_FILE,
    ...provider.environment,
    ...tracing('the collector'),
    LOG_LEVEL: 'trace',
    RATE_LIMIT: String(RATE_LIMIT),
    REDIS_KEY_PREFIX,
    REDIS_URL: TEST_REDIS_URL ?? `redis://user:${password('Redis')}@127.0.0.1:${await refusingRedis()}`,
  });
  // While the address has not failed too often to be looked up.
  for (const credential of Object.values(credentials)) await send(service.origin, list(credential));
  keep('doctor', await runCli(['doctor', '--json'], { ...environment, ...provider.environment, LOG_LEVEL: 'trace' }));
  if (url) {
    await eventually(() => service.has('replica not ready'));
    // The error of a statement that looks a token up has its digest among its parameters.
    await query(url.href, 'ALTER TABLE access_tokens RENAME TO hidden_tokens');
    await send(service.origin, list(watchToken('unknown token')));
    await query(url.href, 'ALTER TABLE hidden_tokens RENAME TO access_tokens');
  }
  await appendFile(AUTH_TOKENS_FILE, `${credentials.never}\nthree:${watchToken('mistyped token of the file')}x:\n`);
  // The second time with another body, which is refused.
  const key = password('an idempotent request');
  for (const body of ['{"name":"one"}', '{"name":"two"}']) {
    const fields = [`Authorization: Bearer ${tokens.valid}`, 'Content-Type: application/json', `Idempotency-Key: ${key}`];
    await send(service.origin, request('POST /v1/items', fields, body));
  }
  for (const credential of Object.values(credentials)) {
    for (const bytes of asCredential(credential)) await send(service.origin, bytes);
  }
  // The state of a credential is looked up nowhere else.
  for (const credential of [tokens.valid, credentials.malformed, credentials.good]) {
    for (const bytes of elsewhere(credential, tokens.valid)) await send(service.origin, bytes);
  }
  for (let call = 0; call < RATE_LIMIT && !statuses.has(429); call += 1) await send(service.origin, list(tokens.valid));
  await endAfterAll('the service', service);
  outputs.set('traces', Buffer.concat(collector.received.map(({ body }) => body)).toString('latin1'));
  await keepStored(database);
});

/** A service whose database and Redis refuse it, and commands and a start that fail. */
async function keepAway(credentials: readonly string[]): Promise<void> {
  const postgres = await refusingPostgres();
  const databaseUrl = (name: string, port: number) => `postgres://user:${password(name)}@127.0.0.1:${port}/items`;
  const urls = {
    DATABASE_URL: databaseUrl('the database away', postgres),
    DATABASE_DIRECT_URL: databaseUrl('the direct way', 1),
    DATABASE_READ_URL: databaseUrl('a replica', postgres),
    REDIS_URL: `redis://user:${password('Redis away')}@127.0.0.1:${await refusingRedis()}`,
    ...tracing('the collector that refuses'),
  };
  const configuration = readConfiguration(urls);
  outputs.set('print-outs', `${inspect(configuration, { showHidden: true })} ${JSON.stringify({ configuration })}`);

  const away = await ServiceProcess.start({ ...urls, LOG_LEVEL: 'trace' });
  const failures = ['database not ready', 'Redis unavailable, counting per process'];
  await eventually(() => failures.every((message) => away.has(message)));
  for (const credential of credentials) await send(away.origin, list(credential));
  await endAfterAll('the service without its database', away);
  const report = preload(`process.on('exit', () => console.error(JSON.stringify(process.report.getReport())))`);
  keep('a diagnostic report', await runCli(['--version'], { ...urls, ...report }));

  await keepFromFiles(postgres);
  const wrong = password('what leads nowhere');
  const invalid = {
    DATABASE_URL: `mysql://user:${wrong}@host/items`,
    DATABASE_READ_URL: `postgres://user:${wrong}@host`,
    DATABASE_REPLICA_URLS: `postgres://user:${wrong}@host/items`,
    REDIS_URL: `redis://user:${wrong}@host?sentinelPassword=${wrong}`,
    AUTH_JWT_ISSUER: `https://user:${wrong}@host/`,
    TRUSTED_PROXIES: wrong,
    OTEL_EXPORTER_OTLP_ENDPOINT: `ftp://user:${wrong}@host`,
    OTEL_EXPORTER_OTLP_HEADERS: wrong,
    OTEL_RESOURCE_ATTRIBUTES: wrong,
    OTEL_TRACES_SAMPLER: wrong,
    PORT: wrong,
  };
  keep('a start with wrong variables', await runServiceToEnd(invalid));
  keep('doctor with wrong variables', await runCli(['doctor', '--json'], invalid));
  const issuer = {
    AUTH_JWT_ISSUER: 'http://127.0.0.1:1',
    AUTH_JWT_AUDIENCE: 'x',
    AUTH_JWT_JWKS_URL: `http://127.0.0.1:1/?token=${password('the address of the keys')}`,
  };
  keep('doctor without a database', await runCli(['doctor'], { ...urls, ...issuer }));
  const sentinel = `redis+sentinel://user:${wrong}@127.0.0.1:${await refusingRedis()}/main?sentinelPassword=${wrong}`;
  keep(
    'token list without a database',
    await runCli(['token', 'list'], { ...urls, REDIS_URL: sentinel, LOG_LEVEL: 'trace' }),
  );
  keep('token revoke with a token', await runCli(['token', 'revoke', credentials[0] ?? ''], urls));
}

/** A service, commands and starts that fail, with passwords from files. */
async function keepFromFiles(postgres: number): Promise<void> {
  const files = {
    DATABASE_PASSWORD_FILE: new MountedSecret(password('a file for the database')).path,
    REDIS_PASSWORD_FILE: new MountedSecret(`${password('a file for Redis')}\n`).path,
  };
  const urls = {
    DATABASE_URL: `postgres://user@127.0.0.1:${postgres}/items`,
    DATABASE_READ_URL: `postgres://user@127.0.0.1:${postgres}/items`,
    REDIS_URL: `redis://user:@127.0.0.1:${await refusingRedis()}`,
  };
  const environment = { ...urls, ...files, LOG_LEVEL: 'trace' };
  const configuration = readConfiguration(environment);
  const options = [dataSourceOptions(configuration, { url: urls.DATABASE_URL }, {} as never), configuration];
  outputs.set('print-outs with files', `${inspect(options, { showHidden: true, depth: 9 })} ${JSON.stringify(options)}`);
  const service = await ServiceProcess.start(environment);
  const failures = ['database not ready', 'Redis unavailable, counting per process'];
  await eventually(() => failures.every((message) => service.has(message)));
  await endAfterAll('the service with files', service);
  keep('doctor with files', await runCli(['doctor'], environment));
  keep('token list with files', await runCli(['token', 'list'], environment));
  const twice = { ...environment, DATABASE_URL: urls.DATABASE_URL.replace('@', `:${password('a URL beside a file')}@`) };
  keep('a start with a URL and a file', await runServiceToEnd(twice));
  const mistaken = { ...environment, DATABASE_PASSWORD_FILE: password('a variable for a path') };
  keep('a start with a password for a path', await runServiceToEnd(mistaken));
}

/** Every row of every table, and every key of Redis. */
async function keepStored(database: TestDatabase): Promise<void> {
  const service = await startService({}, database);
  const { manager } = service.app.get(DataSource);
  const tables = await manager.query<{ name: string }[]>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'",
  );
  const rows = await Promise.all(tables.map(({ name }) => manager.query<object[]>(`SELECT t::text FROM "${name}" t`)));
  stored = JSON.stringify(rows);
  await service.stop();
  if (TEST_REDIS_URL !== undefined) {
    const redis = new Redis(TEST_REDIS_URL);
    const keys = await redis.keys(`${REDIS_KEY_PREFIX}*`);
    const values = await Promise.all(keys.map((key) => redis.lrange(key, 0, -1)));
    expect(keys.length).toBeGreaterThan(0);
    outputs.set('Redis', JSON.stringify([keys, values]));
    redis.disconnect();
  }
}

describe('the search', () => {
  const token = generateToken();
  const bytes = Buffer.from(token);
  const digest = sha256(token);

  it.each<[string, string]>([
    ['text', `..."${token.slice(10, 25)}"... is not valid JSON`],
    ['base64', `Basic ${btoa(`user:${token}`)}`],
    ['hex', bytes.toString('hex').toUpperCase()],
    ['Buffer', inspect(bytes)],
    ['list', JSON.stringify(bytes)],
    ['SHA-256 hex', `\\x${digest.toString('hex')}`],
    ['SHA-256 Buffer', inspect({ parameters: [digest] })],
  ])('finds %s', (spelling, text) => {
    const others = new Canaries();
    others.add('token', token.slice(6), token);
    const hay = (piece: string) => `${generateToken()} "${piece}" ${sha256('other').toString('hex')}`;
    expect(others.findIn(hay(text))).toContain(`token: ${spelling}`);
    expect(others.findUndigestedIn(hay(text)).length > 0).toBe(!spelling.startsWith('SHA-256'));
    expect(others.findIn(hay(inspect(Buffer.from(generateToken()))))).toEqual([]);
  });

  it('finds every planted secret of these tests', () => {
    expect(canaries.values.size).toBeGreaterThanOrEqual(20);
    const found = canaries.findIn([...canaries.values.values()].join('" "'));
    expect(found).toEqual(expect.arrayContaining([...canaries.values.keys()].map((name) => `${name}: text`)));
  });
});

describe('secrets', () => {
  it('passed through every place where they could leak', () => {
    expect([...statuses]).toEqual(
      expect.arrayContaining([200, 201, 400, 401, 404, 405, 413, 422, 429, 431, ...(TEST_DATABASE_URL ? [500] : []), 503]),
    );
    const expected: [place: string, ...texts: (string | RegExp)[]][] = [
      ['standard output of the service', /"msg":"request".*"status":401/],
      [
        'standard output of the service without its database',
        'password authentication failed',
        'with args beginning with: ***',
        'traces not exported',
      ],
      ['traces', /GET \/v1\/items.*\/v1\/items\/\*\*\*/s],
      ['standard error of a start with wrong variables', /DATABASE_URL.*REDIS_URL.*AUTH_JWT_ISSUER/s],
      ['standard output of doctor with wrong variables', /DATABASE_URL must.*REDIS_URL must/],
      ['standard output of doctor without a database', 'password authentication failed', 'unknown command', 'fetch failed'],
      ['standard output of doctor', /\d keys of http/],
      ['standard error of a diagnostic report', '"javascriptStack":'],
      ['standard error of token list without a database', 'password authentication failed'],
      ['standard output of the service with files', 'password authentication failed', 'with args beginning with: ***'],
      ['standard output of doctor with files', 'password authentication failed', 'unknown command'],
      ['standard error of token list with files', 'password authentication failed'],
      ['standard error of a start with a URL and a file', 'DATABASE_URL must not have a password'],
      ['standard error of a start with a password for a path', 'DATABASE_PASSWORD_FILE must be the path'],
      ['metrics of the service', 'items_http_request_duration_seconds'],
      ['metrics of the service without its database', 'items_http_request_duration_seconds'],
    ];
    for (const [place, ...texts] of expected) {
      for (const text of texts) expect(outputs.get(place)).toMatch(text);
    }
  });

  it('are in no line, response, metric, trace, document, report or output [no-secrets-shown]', () => {
    const found = [...outputs].flatMap(([place, text]) => canaries.findIn(text).map((sighting) => `${place}: ${sighting}`));
    expect(found).toEqual([]);
  });

  it('are not stored, except idempotency keys and the SHA-256 of tokens [tokens-stored-hashed]', () => {
    const found = canaries.findUndigestedIn(stored);
    expect(found.filter((sighting) => !sighting.startsWith('password of an idempotent request: '))).toEqual([]);
    for (const token of Object.values(tokens)) expect(stored).toContain(sha256(token).toString('hex'));
  });
});

/** Makes a process fail on SIGHUP, with an error that has a secret in its properties. */
function failing(fail: string, secret: string): string {
  const causes = `new AggregateError([Object.assign(new TypeError('inner'), { input: secret })], 'several')`;
  const error = `Object.assign(new Error('provoked', { cause: ${causes} }), { query: 'SELECT $1', parameters: [secret] })`;
  return `process.on('SIGHUP', () => { const secret = '${secret}'; const error = ${error}; ${fail} });`;
}

it.each([
  ['thrown', 'throw error;', undefined],
  ['a rejection', 'Promise.reject(error);', { message: 'provoked', cause: expect.objectContaining({ message: 'several' }) }],
  ['no error', 'Promise.reject({ message: `No ${secret}`, input: secret });', { type: 'object', message: 'No ***' }],
])(
  'an unhandled error ends the process and is reported with its causes, without other properties: %s [unhandled-rejection]',
  async (_case, fail, err) => {
    const secret = generateToken();
    const variables = { DATABASE_URL: 'postgres://127.0.0.1:1/items', ...preload(failing(fail, secret)) };
    const service = await ServiceProcess.start(variables);
    expect(await service.end('SIGHUP')).toBe(1);
    const { stdout, stderr } = service.output;
    expect(service.log.find(({ level }) => level === 'fatal')?.['err']).toEqual(err && expect.objectContaining(err));
    if (!err)
      expect(stderr).toMatch(
        /^Error: provoked\n +at .*\[cause\]: AggregateError: several\n.*\[error\]: TypeError: inner\n/s,
      );
    const others = new Canaries();
    others.add('token', secret.slice('items_'.length), secret);
    expect(others.findIn(stdout + stderr)).toEqual([]);
  },
);
