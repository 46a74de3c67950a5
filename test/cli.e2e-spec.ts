import { type Outcome, runCli, ServiceProcess } from './support/process.js';
import { eventually } from './support/service.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});

afterAll(() => database.drop());

const cli = (...args: string[]): Promise<Outcome> => runCli(args, database.environment);

describe('token', () => {
  it('issue prints the token alone, and the service accepts it; revoke ends it', async () => {
    const issued = await cli('token', 'issue', '--name', 'ci', '--expires', '90d');
    expect(issued).toMatchObject({ code: 0, stdout: expect.stringMatching(/^items_[0-9A-Za-z]{36}\n$/) });
    const never = await cli('token', 'issue', '--name', 'forever', '--expires', 'never');
    const token = issued.stdout.trim();

    const listed = await cli('token', 'list');
    const [head, first, second, ...rest] = listed.stdout.split('\n').map((line) => line.split('\t'));
    expect(head).toEqual(['ID', 'NAME', 'CREATED', 'EXPIRES', 'LAST USED', 'REVOKED', 'SCOPES']);
    expect([first?.[1], second?.[1], rest]).toEqual(['ci', 'forever', [['']]]);
    expect(Date.parse(first?.[3] ?? '') - Date.parse(first?.[2] ?? '')).toBeGreaterThan(89.9 * 86_400_000);
    expect(second?.slice(3)).toEqual(['-', '-', '-', '-']);
    expect(listed.stdout).not.toContain(token.slice(6, 36));

    const id = first?.[0] ?? '';
    expect(await cli('token', 'revoke', id)).toMatchObject({ code: 0, stdout: '' });
    expect(await cli('token', 'revoke', id)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`No token with the id ${id}`),
    });

    const service = await ServiceProcess.startReady(database.environment);
    await eventually(async () => (await service.client(token).list()).status === 401);
    expect((await service.client(never.stdout.trim()).list()).status).toBe(200);
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('issue restricts a token to scopes, and knows which there are', async () => {
    const issued = await cli('token', 'issue', '--name', 'reader', '--scope', 'items:read');
    expect((await cli('token', 'list')).stdout).toMatch(/\treader\t.*\titems:read\n/);
    const service = await ServiceProcess.startReady(database.environment);
    const reader = service.client(issued.stdout.trim());
    expect([(await reader.list()).status, (await reader.create({ name: 'x' })).status]).toEqual([200, 403]);
    expect(await service.end('SIGTERM')).toBe(0);
    expect(await cli('token', 'issue', '--name', 'x', '--scope', 'items:raed')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^There is no scope items:raed\. There are .*items:read, items:write/),
    });
  });

  it.each([
    [['token', 'issue'], '--name'],
    [['token', 'issue', '--name', 'x', '--expires', '3 weeks'], 'like 90d, or never'],
    [['token', 'revoke', 'x'], 'An id looks like'],
    [['token', 'issue', '--name', 'a\tb'], 'printable'],
    [['token', 'issue', '--name', ' '], 'printable'],
    [['tokne'], 'unknown command'],
  ])('says what is wrong with %j', async (args, message) => {
    expect(await cli(...args)).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(message) });
  });
});

describe('migrate', () => {
  it('applies what is missing, also when the service would not, and can be repeated', async () => {
    const other = await createTestDatabase();
    const environment = { ...other.environment, MIGRATE_ON_START: 'false' };
    expect(await runCli(['token', 'list'], environment)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Waiting for "migrate"'),
    });
    const first = await runCli(['migrate'], environment);
    expect([first.code, first.stdout]).toEqual([0, '']);
    expect(first.stderr).toContain('"migration":"CreateItems');
    const second = await runCli(['migrate'], environment);
    expect([second.code, second.stderr.includes('migration applied')]).toEqual([0, false]);
    expect((await runCli(['token', 'list'], environment)).code).toBe(0);
    await other.drop();
  });
});
