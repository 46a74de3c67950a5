import { generateToken, isWellFormedToken } from '../src/platform/auth/token-format.js';
import { type LogLine, type Outcome, runCli, ServiceProcess } from './support/process.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';

let database: TestDatabase;
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  database = await createTestDatabase();
  ({ environment } = database);
});

afterAll(() => database.drop());

interface ListedToken {
  id: string;
  name: string;
  token: string;
  expiresAt: string | null;
  revokedAt: string | null;
  replacedBy: string | null;
  scopes: string[] | null;
}

/** The tokens of that name, oldest first. */
async function tokensNamed(wanted: string): Promise<ListedToken[]> {
  const { stdout } = await cli('token', 'list', '--json');
  return (JSON.parse(stdout) as ListedToken[]).filter(({ name }) => name === wanted);
}

/** The lines that a command left in the audit log. */
function auditOf({ stderr }: Outcome): LogLine[] {
  const lines = stderr.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as LogLine).filter(({ context }) => context === 'Audit');
}

function hoursUntil(time: string | null | undefined): number {
  return (Date.parse(time ?? '') - Date.now()) / 3_600_000;
}

const cli = (...args: string[]): Promise<Outcome> => runCli(args, environment);

describe('token', () => {
  const given: Record<'ended' | 'reader' | 'rotated' | 'replaced' | 'last', string> = {
    ended: '',
    reader: '',
    rotated: '',
    replaced: '',
    last: '',
  };

  it('issue prints the token alone, list shows all but it, and revoke ends it', async () => {
    const issued = await runCli(['token', 'issue', '--name', 'ci', '--expires', '90d'], { ...environment, LOG_LEVEL: 'error' });
    expect(issued).toMatchObject({ code: 0, stdout: expect.stringMatching(/^items_[0-9A-Za-z]{36}\n$/) });
    given.ended = issued.stdout.trim();
    const reader = await cli('token', 'issue', '--name', 'reader', '--expires', 'never', '--scope', 'items:read');
    given.reader = reader.stdout.trim();

    const listed = await cli('token', 'list');
    const [head, first, second, ...rest] = listed.stdout.split('\n').map((line) => line.split('\t'));
    expect(head).toEqual(['ID', 'NAME', 'TOKEN', 'CREATED', 'EXPIRES', 'LAST USED', 'REVOKED', 'SCOPES']);
    expect([first?.[1], second?.[1], rest]).toEqual(['ci', 'reader', [['']]]);
    expect(first?.[2]).toBe(`items_…${given.ended.slice(-4)}`);
    expect(Date.parse(first?.[4] ?? '') - Date.parse(first?.[3] ?? '')).toBeGreaterThan(89.9 * 86_400_000);
    expect([first?.slice(5), second?.slice(4)]).toEqual([
      ['-', '-', '-'],
      ['-', '-', '-', 'items:read'],
    ]);
    expect(listed.stdout).not.toContain(given.ended.slice(6, 36));

    const id = first?.[0] ?? '';
    // By default the user of the operating system, and at any level of the log.
    const details = { level: 'info', actor: expect.stringMatching(/.@./), reason: 'not given', tokenId: id, name: 'ci' };
    expect(auditOf(issued)).toEqual([expect.objectContaining({ msg: 'token.issued', ...details })]);
    expect(issued.stderr).not.toContain('database ready');
    expect(await cli('token', 'revoke', id)).toMatchObject({ code: 0, stdout: '' });
    const again = await cli('token', 'revoke', id);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining(`No token with the id ${id}`) });
  });

  it('rotate gives a token in place of another, which goes on working for the overlap', async () => {
    const restrictions = ['--scope', 'items:read', 'items:write', '--expires', '36h'];
    given.rotated = (await cli('token', 'issue', '--name', 'rotating', ...restrictions)).stdout.trim();
    const [old] = await tokensNamed('rotating');
    expect(old).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: 'rotating',
      token: `items_…${given.rotated.slice(-4)}`,
      createdAt: expect.stringMatching(/Z$/),
      expiresAt: expect.stringMatching(/Z$/),
      lastUsedOn: null,
      revokedAt: null,
      replacedBy: null,
      scopes: ['items:read', 'items:write'],
    });
    expect(hoursUntil(old?.expiresAt)).toBeCloseTo(36, 1);

    const id = old?.id ?? '';
    const rotated = await cli('token', 'rotate', id, '--overlap', '24h', '--actor', 'alice', '--reason', 'yearly');
    expect(rotated).toMatchObject({ code: 0, stdout: expect.stringMatching(/^items_[0-9A-Za-z]{36}\n$/) });
    given.replaced = rotated.stdout.trim();
    const [event] = auditOf(rotated);
    const next = String(event?.['tokenId']);
    expect(event).toMatchObject({ msg: 'token.rotated', actor: 'alice', reason: 'yearly', replaces: id });
    const again = await cli('token', 'rotate', id);
    expect(again).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(`rotated already, into ${next}`) });
    given.last = (await cli('token', 'rotate', next, '--overlap', '0h', '--expires', 'never')).stdout.trim();

    const [first, second, third] = await tokensNamed('rotating');
    expect(first).toMatchObject({ id, replacedBy: next, revokedAt: null, expiresAt: event?.['replacedExpiresAt'] });
    expect(hoursUntil(first?.expiresAt)).toBeCloseTo(24, 1);
    expect(hoursUntil(String(event?.['expiresAt']))).toBeCloseTo(36, 1);
    expect(second).toMatchObject({ id: next, replacedBy: third?.id });
    expect(third).toMatchObject({ replacedBy: null, expiresAt: null, scopes: ['items:read', 'items:write'] });
  });

  it('revoke takes a leaked token itself, also from standard input, and names it to the audit log', async () => {
    const leaked = (await cli('token', 'issue', '--name', 'leaked')).stdout.trim();
    const revoked = await cli('token', 'revoke', leaked, '--actor', 'bob', '--reason', 'found in a log');
    expect(revoked).toMatchObject({ code: 0, stdout: '' });
    const [event] = auditOf(revoked);
    expect(event).toMatchObject({ msg: 'token.revoked', actor: 'bob', reason: 'found in a log', name: 'leaked', scopes: 'all' });
    const again = await runCli(['token', 'revoke', '-'], environment, `${leaked}\n`);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('is revoked already') });
    const rotated = await cli('token', 'rotate', String(event?.['tokenId']));
    expect(rotated).toMatchObject({ code: 1, stderr: expect.stringContaining('is revoked: issue a new one') });
  });

  it('does what the service follows', async () => {
    const service = await ServiceProcess.startReady(environment);
    const statusOf = async (token: string) => (await service.client(token).list()).status;
    expect(await Promise.all(Object.values(given).map(statusOf))).toEqual([401, 200, 200, 401, 200]);
    expect((await service.client(given.reader).create({ name: 'x' })).status).toBe(403);
    expect(await service.end('SIGTERM')).toBe(0);
    const refusals = service.linesOf('request').flatMap(({ refusal }) => refusal ?? []);
    expect(refusals).toEqual(
      expect.arrayContaining([
        { reason: 'revoked', tokenId: expect.any(String), address: '127.0.0.1' },
        { reason: 'rotated', tokenId: expect.any(String), address: '127.0.0.1' },
      ]),
    );
  });

  it('revoke says that it could not look into the file of tokens, and has revoked all the same', async () => {
    const token = (await cli('token', 'issue', '--name', 'beside a file')).stdout.trim();
    const outcome = await runCli(['token', 'revoke', token], { ...environment, AUTH_TOKENS_FILE: '/nowhere/tokens' });
    const message = /^The file \/nowhere\/tokens of AUTH_TOKENS_FILE cannot be used/m;
    expect([outcome.code, outcome.stderr]).toEqual([1, expect.stringMatching(message)]);
    expect(auditOf(outcome)).toEqual([expect.objectContaining({ msg: 'token.revoked', name: 'beside a file' })]);
  });

  it('generate makes a token that is valid nowhere', async () => {
    const { code, stdout } = await cli('token', 'generate');
    expect([code, isWellFormedToken(stdout.trim())]).toEqual([0, true]);
    const revoked = await cli('token', 'revoke', stdout.trim());
    expect(revoked).toMatchObject({ code: 1, stderr: expect.stringContaining('was not issued here') });
  });

  it('repeats no token that was written in a wrong place', async () => {
    const token = generateToken();
    const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln';
    const outcomes = await Promise.all([
      cli('token', token),
      cli('token', 'revoke', `--token=${token}`),
      cli('token', 'revoke', jwt, '--reason', jwt),
      cli('token', 'revoke', `${token.slice(0, -1)}!`),
      cli('token', 'rotate', token),
      cli('token', 'rotate', '0190163d-8694-739b-aea5-966c26f8ad91', '--overlap', token),
      cli('token', 'issue', '--name', token),
      cli('token', 'issue', '--name', 'x', '--scope', 'items:read', token),
    ]);
    const reasoned = await cli('token', 'issue', '--name', 'misplaced', '--reason', `for ${token}`, '--actor', jwt);
    expect(outcomes.map(({ code }) => code)).toEqual(outcomes.map(() => 1));
    expect(auditOf(reasoned)).toEqual([expect.objectContaining({ reason: 'for ***', actor: '***' })]);
    const said = [...outcomes, reasoned].map(({ stdout, stderr }) => stdout + stderr).join('\n');
    expect([said.includes(token.slice(6, 36)), said.includes(jwt)]).toEqual([false, false]);
  });

  it.each([
    [['token', 'issue'], '--name'],
    [['token', 'issue', '--name', 'x', '--expires', '3 weeks'], 'like 90d or 24h, or never'],
    [
      ['token', 'issue', '--name', 'x', '--scope', 'items:raed'],
      'There is no scope items:raed. There are items:read, items:write.',
    ],
    [['token', 'issue', '--name', 'x', '--expires', '0d'], 'like 90d or 24h, or never'],
    [['token', 'rotate', 'x', '--overlap', 'never'], 'like 24h or 7d'],
    [['token', 'revoke', 'x'], 'An id looks like'],
    [['token', 'rotate', '0190163d-8694-739b-aea5-966c26f8ad91'], 'No token has the id'],
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
    const unmigrated = { ...other.environment, MIGRATE_ON_START: 'false' };
    expect(await runCli(['token', 'list'], unmigrated)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Waiting for "migrate"'),
    });
    const first = await runCli(['migrate'], unmigrated);
    expect([first.code, first.stdout]).toEqual([0, '']);
    expect(first.stderr).toContain('"migration":"CreateItems');
    const second = await runCli(['migrate'], unmigrated);
    expect([second.code, second.stderr.includes('migration applied'), second.stderr.includes('nothing to apply')]).toEqual([
      0,
      false,
      true,
    ]);
    expect((await runCli(['token', 'list'], unmigrated)).code).toBe(0);
    await other.drop();
  });
});
