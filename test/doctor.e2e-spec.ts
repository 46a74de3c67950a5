import { jest } from '@jest/globals';
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Module } from '@nestjs/common';
import { ItemsModule } from '../src/items/items.module.js';
import { generateToken } from '../src/platform/auth/token-format.js';
import { DoctorChecks } from '../src/platform/index.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { Diagnosis } from './support/doctor.js';
import { freePort } from './support/free-port.js';
import { IdentityProvider } from './support/identity-provider.js';
import { runCli } from './support/process.js';
import { silentServer } from './support/refusing-servers.js';
import { startService } from './support/service.js';
import { createEmbedded, testDirectory } from './support/test-database.js';

/** Always the embedded database: what it finds of a server is tested in test/postgresql and test/cluster. */
let directory: string;
let nowhere: string;

beforeAll(async () => {
  directory = await mkdtemp(join(testDirectory(), 'doctor-'));
  nowhere = join(directory, 'not', 'there');
});

describe('doctor', () => {
  it('finds nothing wrong with the defaults, names what it looked at, and makes nothing', async () => {
    const { report, names } = await Diagnosis.of({ DATA_DIR: nowhere });
    expect(report.status).toBe('ok');
    const [, handbook = ''] = (await readFile('docs/operations.md', 'utf8')).split(/^## (?=Doctor$|Metrics$)/m);
    const documented = [...handbook.matchAll(/^\| `([a-z.-]+)(?:\.N)?` +\|/gm)].map(([, name = '']) => name);
    expect(documented.filter((name) => name !== 'database.replica').toSorted()).toEqual(names.toSorted());
    expect(documented).toContain('database.replica');
    expect(existsSync(join(directory, 'not'))).toBe(false);
  });

  it('opens the data directory where it is free, and leaves alone who uses it', async () => {
    const database = await createEmbedded();
    const before = await Diagnosis.of(database.environment);
    expect(before.faults).toEqual({});
    expect(before.find('database.migrations').found).toMatch(/^7 of 7 to apply: .*; the start applies them$/);
    expect(before.find('database.tables').status).toBe('skipped');
    const waiting = await Diagnosis.of({ ...database.environment, MIGRATE_ON_START: 'false' });
    expect(waiting.faults).toEqual({
      'database.migrations': expect.stringMatching(/^warning: 7 of 7.*→ Run the command migrate/),
    });

    const service = await startService({ DATABASE_URL: '' }, database);
    const during = await Diagnosis.of(database.environment);
    expect(during.faults).toEqual({});
    expect(during.find('data-directory').found).toContain('in use by a running service');
    expect(during.find('database.migrations')).toMatchObject({ status: 'skipped' });
    expect((await service.api.create({ name: 'undisturbed' })).status).toBe(201);
    await service.stop();

    const after = await Diagnosis.of(database.environment);
    expect(after.faults).toEqual({});
    expect(after.find('database.connection').found).toMatch(/^PostgreSQL \d+\.\d+, embedded/);
    expect(after.find('database.migrations').found).toBe('all 7 applied');
    expect(after.find('database.tables').found).toBe('fit the 3 entities');
    expect(after.find('database.indexes')).toMatchObject({ status: 'ok' });
  });

  it('finds a data directory that is none', async () => {
    const file = join(directory, 'file');
    await writeFile(file, '');
    for (const DATA_DIR of [file, join(file, 'data')]) {
      const { faults } = await Diagnosis.of({ DATA_DIR });
      const fault = `failed: ${DATA_DIR} cannot be written: ${file} is no directory → Give it to the service, or choose another with DATA_DIR.`;
      expect(faults).toEqual({ 'data-directory': fault });
    }
  });

  it('opens no data directory of another user, in which its files would be in the way', async () => {
    const { environment } = await createEmbedded();
    const files = readdirSync(environment.DATA_DIR);
    const getuid = jest.spyOn(process, 'getuid').mockReturnValue(4711);
    const diagnosis = await Diagnosis.of(environment);
    getuid.mockRestore();
    expect(diagnosis.faults).toEqual({ 'data-directory': expect.stringMatching(/^warning: .* and this is 4711.*Run doctor as/) });
    expect(diagnosis.find('database.connection').status).toBe('skipped');
    expect(readdirSync(environment.DATA_DIR)).toEqual(files);
  });

  it('names all faults of the configuration at once, looks no further, and still names every check', async () => {
    const { names } = await Diagnosis.of({ DATA_DIR: nowhere });
    const wrong = await Diagnosis.of({ PORT: 'http', DATABASE_URL: 'mysql://user:canaryhunter2@host', RATE_LIMIT: '0' });
    expect(wrong.report.status).toBe('failed');
    const [found = '', advice] = (wrong.faults['configuration'] ?? '').split(' → ');
    expect(found.split('\n').map((line) => line.split(' must ')[0])).toEqual(['failed: PORT', 'DATABASE_URL', 'RATE_LIMIT']);
    expect(advice).toBe('See .env.example.');
    expect(wrong.names).toEqual(names);
    const others = wrong.report.checks.filter(({ name }) => name !== 'configuration' && name !== 'node');
    expect(new Set(others.map((result) => `${result.status}: ${result.found}`))).toEqual(
      new Set(['skipped: configuration failed']),
    );
  });
});

describe('the ports', () => {
  it('may be used by the service itself, and by nobody else', async () => {
    const service = await startService();
    const other = createServer((_request, response) => response.end('{"status":"other"}'));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const PORT = String(service.port);
    const METRICS_PORT = String((other.address() as AddressInfo).port);
    const own = await Diagnosis.of({ DATA_DIR: nowhere, PORT });
    expect(own.find('ports')).toEqual({
      name: 'ports',
      status: 'ok',
      found: `PORT ${PORT} is used by a service like this one\nMETRICS_PORT is any free one`,
    });
    const taken = await Diagnosis.of({ DATA_DIR: nowhere, PORT, METRICS_PORT });
    expect(taken.faults['ports']).toMatch(new RegExp(`^failed: .*METRICS_PORT ${METRICS_PORT} is used by something else`, 's'));
    const same = await Diagnosis.of({ DATA_DIR: nowhere, PORT, METRICS_PORT: PORT });
    expect(same.faults['ports']).toMatch(/^failed: PORT and METRICS_PORT are both/);
    other.close();
    await service.stop();
  });
});

describe('the file of tokens', () => {
  const tokensFile = (content: string) => async () => {
    const path = join(directory, 'tokens');
    await writeFile(path, content);
    return path;
  };

  it.each([
    [
      'is not there',
      () => Promise.resolve('/nowhere/tokens'),
      /^failed: \/nowhere\/tokens cannot be read: ENOENT.*unset AUTH_TOKENS_FILE/,
    ],
    ['is a directory', () => Promise.resolve(directory), /^failed: .* cannot be read: It is no regular file/],
    ['is wrong', tokensFile('one:two\nthree'), /^failed: .* is wrong:\n {2}line 1 has neither.*\n {2}line 2 has no colon/],
    [
      'asks for more than there is',
      tokensFile(`one:${generateToken()}:items:raed`),
      /^warning: .* declares 1 token.*items:raed.*items:read, items:write/,
    ],
  ])('is found when it %s', async (_case, make, fault) => {
    const { faults } = await Diagnosis.of({ DATA_DIR: nowhere, AUTH_TOKENS_FILE: await make() });
    expect(faults).toEqual({ 'auth.tokens-file': expect.stringMatching(fault) });
  });

  it('is fine when it is right', async () => {
    const path = await tokensFile(`one:${generateToken()}\ntwo:${generateToken()}:items:read\n`)();
    const { report, find } = await Diagnosis.of({ DATA_DIR: nowhere, AUTH_TOKENS_FILE: path }).then((diagnosis) => ({
      report: diagnosis.report,
      find: diagnosis.find('auth.tokens-file'),
    }));
    expect([report.status, find.found]).toEqual(['ok', `${path} declares 2 tokens`]);
  });
});

describe("the issuer's keys", () => {
  let provider: IdentityProvider;
  const diagnosed = async (environment: NodeJS.ProcessEnv = {}) =>
    (await Diagnosis.of({ DATA_DIR: nowhere, ...provider.environment, ...environment })).find('auth.issuer-keys');

  beforeAll(async () => {
    provider = await IdentityProvider.start();
  });

  afterAll(() => provider.stop());

  it('are counted by algorithm, and are to come with TLS', async () => {
    await provider.rotate(['ES256']);
    expect(await diagnosed()).toMatchObject({
      status: 'warning',
      found: '4 usable: 1 × RS256, 2 × ES256, 1 × EdDSA, fetched without TLS',
      mend: expect.stringContaining('https://'),
    });
  });

  it.each([
    ['garbage', 'answers with something else than JSON'],
    ['error', 'answers with status 500'],
    [{ body: { keys: [] } }, 'the issuer publishes no key that can be used'],
  ] as const)('cannot be had from one that answers %j', async (fault, text) => {
    provider.fail(fault, ['keys']);
    const finding = await diagnosed();
    provider.recover();
    expect(finding).toMatchObject({ status: 'failed', found: expect.stringContaining(text) });
  });

  it('cannot be had from one that is away, or silent', async () => {
    const silent = `http://127.0.0.1:${await silentServer()}`;
    const [away, still] = await Promise.all([
      diagnosed({ AUTH_JWT_ISSUER: `http://127.0.0.1:${await freePort()}` }),
      diagnosed({ AUTH_JWT_ISSUER: silent }),
    ]);
    expect(away).toMatchObject({ status: 'failed', found: expect.stringMatching(/does not answer: .*ECONNREFUSED/) });
    expect(still).toMatchObject({ status: 'failed', found: expect.stringMatching(/does not answer: .*timeout/) });
  });
});

describe('a module of another team', () => {
  @Module({})
  class PaymentsModule {
    constructor(checks: DoctorChecks) {
      checks.add({ name: 'payments.connection', run: () => ({ status: 'warning', found: 'slow', mend: 'hurry' }) });
      checks.add({ name: 'payments.rights', needs: ['payments.connection'], run: () => Promise.reject(new Error('none')) });
    }
  }

  @Module({ imports: [PlatformModule, ItemsModule, PaymentsModule] })
  class AppModule {}

  it('has its checks behind those of the platform', async () => {
    const { names, faults } = await Diagnosis.of({ DATA_DIR: nowhere }, AppModule);
    expect(names.slice(-2)).toEqual(['payments.connection', 'payments.rights']);
    expect(faults).toEqual({
      'payments.connection': 'warning: slow → hurry',
      'payments.rights': expect.stringMatching(/^failed: none → /),
    });
  });
});

describe('the command', () => {
  it('prints lines or JSON on standard output, nothing else, and its exit code tells what was found', async () => {
    const environment = { DATA_DIR: nowhere, PORT: '0', METRICS_PORT: '0', RATE_LIMIT_REPLICAS: '3' };
    const [lenient, strict, failing] = await Promise.all([
      runCli(['doctor'], environment),
      runCli(['doctor', '--strict', '--json'], environment),
      runCli(['doctor', '--json'], { PORT: 'http' }),
    ]);
    expect([lenient.code, lenient.stderr]).toEqual([0, '']);
    expect(lenient.stdout).toMatch(/^✓ node .*\n✓ configuration +valid\n/);
    expect(lenient.stdout).toMatch(
      /\n! limiter\.connection +warning: REDIS_URL is unset: each of the 3 replicas admits 33 of 100.*\n +→ Set/,
    );
    expect(lenient.stdout).toMatch(/\n\n\d+ ok, 1 warning, 0 failed, \d+ skipped\n$/);
    expect([strict.code, strict.stderr]).toEqual([1, '']);
    expect(JSON.parse(strict.stdout)).toMatchObject({ status: 'warning', checks: expect.any(Array) });
    expect([failing.code, failing.stderr]).toEqual([1, '']);
    expect(JSON.parse(failing.stdout)).toMatchObject({
      status: 'failed',
      checks: expect.arrayContaining([expect.objectContaining({ name: 'configuration', status: 'failed' })]),
    });
  });
});
