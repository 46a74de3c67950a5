import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFile, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect, promisify } from 'node:util';
import { Redis } from 'ioredis';
import { AccessTokensService } from '../src/platform/auth/access-tokens.service.js';
import { digestOf, generateToken } from '../src/platform/auth/token-format.js';
import { readConfiguration } from '../src/platform/config/read-configuration.js';
import { Canaries } from './support/canaries.js';
import { asCredential, elsewhere } from './support/canary-requests.js';
import { Collector } from './support/collector.js';
import { IdentityProvider } from './support/identity-provider.js';
import { type Outcome, runCli, runServiceToEnd, ServiceProcess } from './support/process.js';
import { request, sendRaw } from './support/raw-http.js';
import { refusingPostgres, refusingRedis } from './support/refusing-servers.js';
import { eventually, startService, TESTER } from './support/service.js';
import { TcpProxy } from './support/tcp-proxy.js';
import { query } from './support/query.js';
import { createTestDatabase, type TestDatabase, testDirectory } from './support/test-database.js';

const run = promisify(execFile);

const canaries = new Canaries();
/** All output of the service, by its place. */
const outputs = new Map<string, string>();
/** What is stored: the digests of tokens belong there. */
const stored = new Map<string, string | Buffer>();
const statuses = new Set<number>();

/** A password for a URL, and for nothing else. */
function password(name: string): string {
  const value = generateToken().slice('items_'.length);
  canaries.add(`password of ${name}`, value);
  return value;
}

function watchToken(name: string, token: string): string {
  canaries.add(name, token.replace(/^items./, ''), token);
  return token;
}

function watchJwt(name: string, jwt: string): string {
  const [, claims = '', signature = ''] = jwt.split('.');
  canaries.add(`claims of ${name}`, claims, jwt);
  canaries.add(`signature of ${name}`, signature, jwt);
  return jwt;
}

/** Where traces go, with secrets in both places for them. */
function tracing(name: string) {
  const headers = { OTEL_EXPORTER_OTLP_HEADERS: `x-api-key=${password(`a header of ${name}`)}` };
  return { ...collector.environmentWith(`user:${password(name)}@`), ...headers };
}

const list = (token: string) => request('GET /v1/items', [`Authorization: Bearer ${token}`]);

/** Sends bytes as they are and keeps the answer. */
async function send(origin: string, bytes: string): Promise<void> {
  const { status, headers, body } = await sendRaw(Number(new URL(origin).port), bytes);
  statuses.add(status);
  outputs.set('answers', `${outputs.get('answers') ?? ''}${status}\n${headers}\n\n${body}\n`);
}

function keep(name: string, { stdout, stderr }: Omit<Outcome, 'code'>): void {
  outputs.set(`standard output of ${name}`, stdout).set(`standard error of ${name}`, stderr);
}

/** Where a process writes its diagnostic report on SIGUSR2, which takes all that Node can say of it. */
async function reporting(): Promise<{ directory: string; NODE_OPTIONS: string }> {
  const directory = await mkdtemp(join(testDirectory(), 'report-'));
  return { directory, NODE_OPTIONS: `--report-on-signal --report-uncaught-exception --report-directory=${directory}` };
}

/** The output of a running service alone. */
async function askEverything(name: string, service: ServiceProcess, reports: string): Promise<void> {
  for (const path of ['/', '/openapi.json', '/docs', '/docs/problems', '/readyz', '/livez']) {
    const response = await fetch(service.origin + path);
    outputs.set(`${path} of ${name}`, await response.text());
  }
  outputs.set(`metrics of ${name}`, await service.metrics());
  service.child.kill('SIGUSR2');
  await eventually(async () => {
    const [file] = await readdir(reports);
    const report = file === undefined ? '' : await readFile(join(reports, file), 'utf8');
    outputs.set(`report of ${name}`, report);
    // Only the last brace of all is not indented.
    return report.trimEnd().endsWith('\n}');
  });
}

/** Tokens in every state, issued as a running service does it: none other could make one that has expired already. */
async function issueTokens(database: TestDatabase): Promise<Record<'valid' | 'expired' | 'revoked', string>> {
  const service = await startService({}, database);
  const { token: valid } = await service.newClient('canary');
  const { token: expired } = await service.newClient('expired', { expiresAt: new Date(Date.now() - 1) });
  const { token: revoked } = await service.newClient('to be revoked');
  expect(await service.app.get(AccessTokensService).revoke({ digest: digestOf(revoked) }, TESTER)).toBe(true);
  await service.stop();
  return { valid, expired, revoked };
}

/** Where the service finds its database: on a server with a password, and behind something that can break. */
async function reach({ environment }: TestDatabase) {
  if (!('DATABASE_URL' in environment)) {
    return { environment, proxy: undefined };
  }
  const proxy = await TcpProxy.start(environment.DATABASE_URL);
  const url = new URL(proxy.url);
  url.password ||= password('the database');
  return { environment: { DATABASE_URL: url.href }, proxy };
}

const { TEST_DATABASE_URL, TEST_REDIS_URL } = process.env;
const RATE_LIMIT = 200;
const REDIS_KEY_PREFIX = `canary-${process.pid}-${Date.now()}:`;

let tokens: Awaited<ReturnType<typeof issueTokens>>;
let provider: IdentityProvider;
let collector: Collector;

afterAll(() => Promise.all([provider.stop(), collector.stop()]));

beforeAll(async () => {
  provider = await IdentityProvider.start();
  collector = await Collector.start();
  const late = Math.floor(Date.now() / 1000) - 3600;
  const database = await createTestDatabase();
  tokens = await issueTokens(database);
  const issued = await runCli(['token', 'issue', '--name', 'of the command'], database.environment);
  expect(issued.code).toBe(0);
  keep('token issue', { ...issued, stdout: '' });
  const credentials = {
    ...Object.fromEntries(Object.entries(tokens).map(([name, token]) => [name, watchToken(`${name} token`, token)])),
    command: watchToken('token of the command', issued.stdout.trim()),
    never: watchToken('token that was never issued', generateToken()),
    mistyped: watchToken('mistyped token', `${generateToken().slice(0, -6)}aaaaaa`),
    malformed: watchToken('malformed token', `${generateToken().replace('_', '-')}!`),
    inFile: watchToken('token of the file', generateToken()),
    good: watchJwt('a JWT', await provider.sign()),
    late: watchJwt('an expired JWT', await provider.sign({ exp: late })),
    foreign: watchJwt(
      'a JWT with another signature',
      `${(await provider.sign({ sub: 'bob' })).slice(0, -43)}${generateToken()}0`,
    ),
  };
  const key = generateToken().slice('items_'.length);
  canaries.add('idempotency key', key);

  collector.fault = 403;
  await keepAway(Object.values(credentials));
  collector.fault = undefined;
  const AUTH_TOKENS_FILE = join(await mkdtemp(join(testDirectory(), 'tokens-')), 'tokens');
  const digest = createHash('sha256').update(watchToken('digested token of the file', generateToken())).digest('hex');
  await writeFile(AUTH_TOKENS_FILE, `one:${credentials.inFile}\ntwo:${digest}:items:read\n`, { mode: 0o600 });
  const { environment, proxy } = await reach(database);
  const { directory, NODE_OPTIONS } = await reporting();
  const service = await ServiceProcess.startReady({
    ...environment,
    NODE_OPTIONS,
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
  if (proxy && 'DATABASE_URL' in database.environment) {
    await failStatements(database.environment.DATABASE_URL, service);
    proxy.cut();
    await callWithNewToken(service);
    proxy.restore();
    await service.becomesReady();
  }
  const mistyped = `three:${watchToken('mistyped token of the file', generateToken())}x:`;
  await appendFile(AUTH_TOKENS_FILE, `${credentials.never}\n${mistyped}\n`);
  await createTwice(service, key);
  for (const credential of Object.values(credentials)) {
    for (const bytes of asCredential(credential)) await send(service.origin, bytes);
  }
  // What state a credential has is looked up nowhere else.
  for (const credential of [tokens.valid, credentials.malformed, credentials.good]) {
    for (const bytes of elsewhere(credential, tokens.valid)) await send(service.origin, bytes);
  }
  for (let call = 0; call < RATE_LIMIT && !statuses.has(429); call += 1) await send(service.origin, list(tokens.valid));
  await askEverything('the service', service, directory);
  expect(await service.end('SIGTERM')).toBe(0);
  keep('the service', service.output);
  outputs.set('traces', Buffer.concat(collector.received.map(({ body }) => body)).toString('latin1'));
  await proxy?.stop();
  await keepStored(database);
  await database.drop();
}, 240_000);

/** Asks for a look-up, whatever is remembered. */
function callWithNewToken(service: ServiceProcess): Promise<void> {
  return send(service.origin, list(watchToken('unknown token', generateToken())));
}

/** The second time with another body, which is refused. */
async function createTwice(service: ServiceProcess, key: string): Promise<void> {
  for (const body of ['{"name":"one"}', '{"name":"two"}']) {
    const fields = [`Authorization: Bearer ${tokens.valid}`, 'Content-Type: application/json', `Idempotency-Key: ${key}`];
    await send(service.origin, request('POST /v1/items', fields, body));
  }
}

/** The error of a statement that looks a token up has its digest among its parameters. */
async function failStatements(url: string, service: ServiceProcess): Promise<void> {
  await query(url, 'ALTER TABLE access_tokens RENAME TO hidden_tokens');
  await callWithNewToken(service);
  await query(url, 'ALTER TABLE hidden_tokens RENAME TO access_tokens');
}

/** A service whose database and Redis refuse it, and commands and a start that fail. */
async function keepAway(credentials: readonly string[]): Promise<void> {
  const postgres = await refusingPostgres();
  const { directory, NODE_OPTIONS } = await reporting();
  const urls = {
    DATABASE_URL: `postgres://user:${password('the database away')}@127.0.0.1:${postgres}/items`,
    DATABASE_DIRECT_URL: `postgres://user:${password('the direct way')}@127.0.0.1:1/items`,
    DATABASE_REPLICA_URLS: [postgres, 1]
      .map((port) => `postgres://user:${password(`the replica on ${port}`)}@127.0.0.1:${port}/items`)
      .join(),
    REDIS_URL: `redis://user:${password('Redis away')}@127.0.0.1:${await refusingRedis()}`,
    ...tracing('the collector that refuses'),
  };
  const configuration = readConfiguration(urls);
  outputs.set(
    'print-outs of the configuration',
    `${inspect(configuration, { showHidden: true })} ${JSON.stringify({ configuration })}`,
  );

  const away = await ServiceProcess.start({ ...urls, NODE_OPTIONS, LOG_LEVEL: 'trace' });
  await eventually(() => ['database not ready', 'replica not ready', 'rate limit storage away'].every((msg) => away.has(msg)));
  for (const credential of credentials) await send(away.origin, list(credential));
  await askEverything('the service without its database', away, directory);
  expect(await away.end('SIGTERM')).toBe(0);
  keep('the service without its database', away.output);

  const wrong = password('what leads nowhere');
  const invalid = {
    DATABASE_URL: `mysql://user:${wrong}@host/items`,
    DATABASE_REPLICA_URLS: `postgres://user:${wrong}@host`,
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
  const jwks = `?token=${password('the address of the keys')}`;
  const issuer = {
    AUTH_JWT_ISSUER: 'http://127.0.0.1:1',
    AUTH_JWT_AUDIENCE: 'x',
    AUTH_JWT_JWKS_URL: `http://127.0.0.1:1/${jwks}`,
  };
  keep('doctor without a database', await runCli(['doctor'], { ...urls, ...issuer }));
  const sentinel = `redis+sentinel://user:${wrong}@127.0.0.1:${await refusingRedis()}/main?sentinelPassword=${wrong}`;
  keep('token list without a database', await runCli(['token', 'list'], { ...urls, REDIS_URL: sentinel, LOG_LEVEL: 'trace' }));
  keep('token revoke with a token', await runCli(['token', 'revoke', credentials[0] ?? ''], urls));
}

async function keepStored({ environment }: TestDatabase): Promise<void> {
  if ('DATABASE_URL' in environment) {
    const dump = await run('pg_dump', ['--dbname', environment.DATABASE_URL], { maxBuffer: 2 ** 28 });
    stored.set('the dump of the database', dump.stdout);
  } else {
    const files = await readdir(environment.DATA_DIR, { recursive: true, withFileTypes: true });
    const contents = await Promise.all(
      files
        // The templates of PostgreSQL have nothing of ours.
        .filter((file) => file.isFile() && !/\/base\/[14]$/.test(file.parentPath))
        .map((file) => readFile(join(file.parentPath, file.name))),
    );
    stored.set('the files of the database', Buffer.concat(contents));
  }
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
  const others = new Canaries();
  others.add('token', token.slice(6), token);
  const digest = createHash('sha256').update(token).digest();
  const bytes = Buffer.from(token);

  it.each([
    ['text', token],
    ['text', token.slice(6)],
    ['text', `..."${token.slice(10, 25)}"... is not valid JSON`],
    ['text', token.toUpperCase()],
    ['text', encodeURIComponent(`access_token=${token}`)],
    ['base64', bytes.toString('base64')],
    ['base64', `Basic ${btoa(`user:${token}`)}`],
    ['base64', btoa(`user2:${token}`)],
    ['base64', Buffer.from(`{"t":"${token}"}`).toString('base64url')],
    ['percent', [...bytes].map((byte) => `%${byte.toString(16)}`).join('')],
    ['hex', bytes.toString('hex')],
    ['hex', bytes.toString('hex').toUpperCase()],
    ['Buffer', inspect(bytes)],
    ['list', JSON.stringify(bytes)],
    ['SHA-256 hex', `\\x${digest.toString('hex')}`],
    ['SHA-256 base64', digest.toString('base64')],
    ['SHA-256 base64', digest.toString('base64url')],
    ['SHA-256 Buffer', inspect({ parameters: [digest] })],
    ['SHA-256 list', JSON.stringify(digest)],
    ['SHA-256 hex', createHash('sha256').update(token.slice(6)).digest('hex')],
  ])('finds %s', (spelling, text) => {
    const hay = `${generateToken()} "${text}" ${createHash('sha256').update('other').digest('hex')}`;
    expect(others.findIn(hay)).toContain(`token: ${spelling}`);
    expect(others.findIn(Buffer.from(hay))).toContain(`token: ${spelling}`);
    expect(others.findUndigestedIn(hay).length > 0).toBe(!spelling.startsWith('SHA-256'));
  });

  it('finds nothing else', () => {
    const hay = [
      generateToken(),
      btoa(generateToken()),
      inspect(Buffer.from(generateToken())),
      digest.subarray(0, 4).toString('hex'),
    ];
    expect(others.findIn(hay.join(' '))).toEqual([]);
  });

  it('finds every canary of these tests wherever it is looked for', () => {
    expect(canaries.values.size).toBeGreaterThanOrEqual(20);
    for (const [name, value] of canaries.values) expect(canaries.findIn(`"${value}"`)).toContain(`${name}: text`);
    for (const [place, text] of outputs) {
      expect([place, canaries.findIn(`${text}${tokens.valid}`)]).toEqual([place, expect.arrayContaining(['valid token: text'])]);
    }
  });
});

describe('secrets', () => {
  it('had every occasion to be shown: what was meant to happen did', () => {
    expect([...statuses].toSorted((a, b) => a - b)).toEqual(
      expect.arrayContaining([200, 201, 400, 401, 404, 405, 413, 422, 429, 431, ...(TEST_DATABASE_URL ? [500] : []), 503]),
    );
    expect(outputs.get('standard output of the service')).toMatch(/"msg":"request".*"status":401/);
    expect(outputs.get('standard output of the service without its database')).toContain('password authentication failed');
    expect(outputs.get('standard output of the service without its database')).toContain('with args beginning with: ***');
    expect(outputs.get('standard output of the service without its database')).toContain('traces not exported');
    expect(outputs.get('traces')).toMatch(/GET \/v1\/items.*\/v1\/items\/\*\*\*/s);
    expect(outputs.get('standard error of a start with wrong variables')).toMatch(/DATABASE_URL.*REDIS_URL.*AUTH_JWT_ISSUER/s);
    expect(outputs.get('standard output of doctor with wrong variables')).toMatch(/DATABASE_URL must.*REDIS_URL must/);
    const doctor = outputs.get('standard output of doctor without a database');
    for (const said of ['password authentication failed', 'unknown command', 'fetch failed']) {
      expect(doctor).toContain(said);
    }
    expect(outputs.get('standard output of doctor')).toMatch(/\d keys of http/);
    expect(outputs.get('standard error of token list without a database')).toContain('password authentication failed');
    for (const name of ['the service', 'the service without its database']) {
      const report = JSON.parse(outputs.get(`report of ${name}`) ?? '') as Record<string, unknown>;
      expect(Object.keys(report)).toEqual(expect.arrayContaining(['header', 'javascriptStack', 'libuv']));
      expect(report).not.toHaveProperty('environmentVariables');
      expect(outputs.get(`metrics of ${name}`)).toContain('items_http_request_duration_seconds');
    }
  });

  it('are in no line, response, metric, trace, document, report or print-out', () => {
    const found = [...outputs].flatMap(([place, text]) => canaries.findIn(text).map((sighting) => `${place}: ${sighting}`));
    expect(found).toEqual([]);
  });

  it('are not stored, but for the SHA-256 of tokens', () => {
    for (const [place, content] of stored) {
      const found = canaries.findUndigestedIn(content).filter((sighting) => !sighting.startsWith('idempotency key: '));
      expect([place, found]).toEqual([place, []]);
      for (const token of [tokens.valid, tokens.expired, tokens.revoked]) {
        const digest = createHash('sha256').update(token).digest();
        expect(Buffer.from(content).includes(typeof content === 'string' ? digest.toString('hex') : digest)).toBe(true);
      }
    }
    expect(stored.size).toBe(1);
  });
});

/** Makes a process fail on SIGHUP, with an error that much hangs on. @param fail - code that does it with an `error` */
function failing(fail: string, secret: string): string {
  const causes = `new AggregateError([Object.assign(new TypeError('inner'), { input: secret })], 'several')`;
  const error = `Object.assign(new Error('provoked', { cause: ${causes} }), { query: 'SELECT $1', parameters: [secret] })`;
  const code = `process.on('SIGHUP', () => { const secret = '${secret}'; const error = ${error}; ${fail} });`;
  return `--import data:text/javascript,${encodeURIComponent(code).replaceAll("'", '%27')}`;
}

describe('an unhandled error', () => {
  it.each([
    ['thrown', 'throw error;'],
    ['as a rejection', 'Promise.reject(error);'],
    ['as a rejection that is no error', 'Promise.reject({ message: error.parameters[0] });'],
  ])('ends the process and is reported with its causes, and nothing that is attached to them: %s', async (_case, fail) => {
    const secret = generateToken();
    const { directory, NODE_OPTIONS } = await reporting();
    const service = await ServiceProcess.start({
      DATABASE_URL: 'postgres://127.0.0.1:1/items',
      NODE_OPTIONS: `${NODE_OPTIONS} ${failing(fail, secret)}`,
    });
    expect(await service.end('SIGHUP')).toBe(1);
    const { stdout, stderr } = service.output;
    if (fail.startsWith('throw')) {
      expect(stderr).toMatch(/^Error: provoked\n +at .*\[cause\]: AggregateError: several\n.*\[error\]: TypeError: inner\n/s);
    } else {
      const cause = { type: 'AggregateError', message: 'several', errors: [expect.objectContaining({ message: 'inner' })] };
      const err = fail.includes('message')
        ? { type: 'object', message: '[object Object]' }
        : { message: 'provoked', cause: expect.objectContaining(cause) };
      expect(service.log.find(({ level }) => level === 'fatal')).toMatchObject({ err });
    }
    const others = new Canaries();
    others.add('token', secret.slice('items_'.length), secret);
    expect(others.findIn(stdout + stderr)).toEqual([]);
    for (const file of await readdir(directory)) expect(others.findIn(await readFile(join(directory, file)))).toEqual([]);
  });
});
