import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineScope } from '../src/platform/auth/scopes.guard.js';
import { generateToken, isWellFormedToken } from '../src/platform/auth/token-format.js';
import { runCommand } from './support/commands.js';
import { preload } from './support/doctor.js';
import { type LogLine, type Outcome, runCli, ServiceProcess } from './support/process.js';
import { createTestDatabase, tablesOf, testDirectory } from './support/test-database.js';

/** For commands that end before they need a database. */
const AWAY = { DATABASE_URL: 'postgres://127.0.0.1:1/items' };

const misplaced = generateToken();
const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln';

let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  ({ environment } = await createTestDatabase());
  expect((await cli('migrate')).code).toBe(0);
});

const cli = (...args: string[]): Promise<Outcome> => runCommand(args, environment);

/** The lines that a command left in the audit log. */
function auditOf({ stderr }: Outcome): LogLine[] {
  const lines = stderr.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as LogLine).filter(({ context }) => context === 'Audit');
}

function hoursUntil(time: unknown): number {
  return (Date.parse(String(time)) - Date.now()) / 3_600_000;
}

const PRINTED = { code: 0, stdout: expect.stringMatching(/^items_[0-9A-Za-z]{36}\n$/) };

describe('token', () => {
  const given = { revoked: '', reader: '', next: '' };
  const ids = { revoked: '', reader: '', next: '' };

  it('issue prints the token alone, and list shows all but it [audit-any-level]', async () => {
    const variables = { ...environment, LOG_LEVEL: 'error' };
    const issued = await runCli(['token', 'issue', '--name', 'ci', '--expires', '90d'], variables);
    expect(issued).toMatchObject(PRINTED);
    const options = [
      '--scope',
      'items:read',
      '--limit',
      '1000',
      '--expires',
      '36h',
      '--actor',
      jwt,
      '--reason',
      `for ${misplaced}`,
    ];
    const reader = await cli('token', 'issue', '--name', 'reader', ...options);
    given.revoked = issued.stdout.trim();
    given.reader = reader.stdout.trim();

    const listed = await runCli(['token', 'list'], environment);
    const [head, first = [], second = [], ...rest] = listed.stdout.split('\n').map((line) => line.split(/ {2,}/));
    const columns = listed.stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.search(/TOKEN|items_…/));
    expect(columns).toEqual(columns.map(() => columns[0]));
    ids.revoked = first[0] ?? '';
    ids.reader = second[0] ?? '';
    expect(head).toEqual(['ID', 'NAME', 'TOKEN', 'CREATED', 'EXPIRES', 'LAST USED', 'REVOKED', 'LIMIT', 'SCOPES']);
    expect([first[1], second[1], rest]).toEqual(['ci', 'reader', [['']]]);
    expect(first[2]).toBe(`items_…${given.revoked.slice(-4)}`);
    expect(Date.parse(first[4] ?? '') - Date.parse(first[3] ?? '')).toBeGreaterThan(89.9 * 86_400_000);
    expect([first.slice(5), second.slice(5)]).toEqual([
      ['never', 'no', 'default', 'all'],
      ['never', 'no', '1000', 'items:read'],
    ]);
    expect(listed.stdout).not.toContain(given.revoked.slice(6, 36));

    // By default the user of the operating system, and at any level of the log.
    expect(reader.stderr).toContain(`Issued token ${ids.reader} "reader", valid until ${second[4]}, limit 1000. It cannot`);
    const details = {
      level: 'info',
      actor: expect.stringMatching(/.@./),
      reason: 'not given',
      tokenId: ids.revoked,
      name: 'ci',
    };
    expect(auditOf(issued)).toEqual([expect.objectContaining({ msg: 'token.issued', ...details })]);
    expect(issued.stderr).toMatch(
      new RegExp(`^Issued token ${ids.revoked} "ci", valid until ${first[4]}\\. It cannot be displayed again\\.$`, 'm'),
    );
    expect([listed.stderr, reader.stderr]).toEqual(['', expect.not.stringContaining('database ready')]);
    expect(auditOf(reader)).toEqual([expect.objectContaining({ reason: 'for ***', actor: '***', limit: 1000 })]);
    expect(reader.stderr).not.toMatch(new RegExp(`${misplaced.slice(6, 36)}|${jwt}`));
  });

  it('rotate gives a token in place of another, which goes on working for the overlap [rotation-keeps-scopes] [rotation-keeps-limit] [rotation-overlap-default] [audit-actor]', async () => {
    const rotated = await cli('token', 'rotate', ids.reader, '--actor', 'alice', '--reason', 'yearly');
    expect(rotated).toMatchObject(PRINTED);
    given.next = rotated.stdout.trim();
    const [event] = auditOf(rotated);
    ids.next = String(event?.['tokenId']);
    expect(event).toMatchObject({
      msg: 'token.rotated',
      actor: 'alice',
      reason: 'yearly',
      replaces: ids.reader,
      limit: 1000,
    });
    expect([hoursUntil(event?.['replacedExpiresAt']), hoursUntil(event?.['expiresAt'])]).toEqual([
      expect.closeTo(24, 1),
      expect.closeTo(36, 1),
    ]);
    const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\dZ`;
    const issued = `Issued token ${ids.next} "reader", valid until ${time}, limit 1000. It cannot be displayed again.`;
    const replaced = `The replaced token ${ids.reader} is valid until ${time}.`;
    expect(rotated.stderr).toMatch(new RegExp(`^${issued} ${replaced}$`, 'm'));
  });

  it('revoke takes an id, and says when there is nothing to revoke [audit-actor]', async () => {
    const revoked = await cli('token', 'revoke', ids.revoked, '--actor', 'bob', '--reason', 'found in a log');
    expect(revoked).toMatchObject({ code: 0, stdout: '' });
    const event = { msg: 'token.revoked', actor: 'bob', reason: 'found in a log', name: 'ci', scopes: 'all' };
    expect(auditOf(revoked)).toEqual([expect.objectContaining(event)]);
    expect(revoked.stderr).toContain(`\nRevoked token ${ids.revoked} "ci". Running services refuse it within`);
    const again = await cli('token', 'revoke', given.revoked);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('No active token matches') });
  });

  it('does what the service follows', async () => {
    const service = await ServiceProcess.startReady(environment);
    const statusOf = async (token: string) => (await service.client(token).list()).status;
    expect(await Promise.all(Object.values(given).map(statusOf))).toEqual([401, 200, 200]);
    expect((await service.client(given.reader).create({ name: 'x' })).status).toBe(403);
    expect(await service.end('SIGTERM')).toBe(0);
    const refusals = service.linesOf('request').flatMap(({ refusal }) => refusal ?? []);
    expect(refusals).toEqual([{ reason: 'revoked', tokenId: ids.revoked, address: '127.0.0.1' }]);
  });

  it('revoke takes a token from standard input [revoke-from-input]', async () => {
    const outcome = await runCli(['token', 'revoke', '-'], environment, `${given.reader}\n`);
    expect(outcome.code).toBe(0);
    expect(auditOf(outcome)).toEqual([expect.objectContaining({ msg: 'token.revoked', name: 'reader' })]);
  });

  it('list --json shows what became of every token [rotation-keeps-scopes] [rotation-keeps-limit]', async () => {
    const { stdout } = await cli('token', 'list', '--json');
    const time = expect.stringMatching(/Z$/);
    const today = expect.stringMatching(/^\d{4}-\d\d-\d\d$/);
    const reader = {
      name: 'reader',
      createdAt: time,
      expiresAt: time,
      revokedAt: null,
      scopes: ['items:read'],
      limit: 1000,
    };
    const shortened = (token: string) => `items_…${token.slice(-4)}`;
    const replaced = { token: shortened(given.reader), lastUsedOn: today, revokedAt: time, replacedBy: ids.next };
    const unused = { lastUsedOn: null, revokedAt: time, replacedBy: null, scopes: null, limit: null };
    expect(JSON.parse(stdout)).toEqual([
      { ...reader, id: ids.revoked, name: 'ci', token: shortened(given.revoked), ...unused },
      { ...reader, id: ids.reader, ...replaced },
      { ...reader, id: ids.next, token: shortened(given.next), lastUsedOn: today, replacedBy: null },
    ]);
  });

  it('generate makes a token without a database', async () => {
    const { code, stdout } = await runCommand(['token', 'generate'], AWAY);
    expect([code, isWellFormedToken(stdout.trim())]).toEqual([0, true]);
  });

  it('issue knows the scopes that there are', async () => {
    const { code, stdout, stderr } = await cli('token', 'issue', '--name', 'x', '--scope', 'items:read', misplaced);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/There is no scope \*\*\*\. The scopes are (?:.*, )?items:read, items:write[,.]/);
    const ofModule = ['token', 'issue', '--name', 'of a module', '--scope', defineScope('cli:module')];
    expect(await runCommand(ofModule, environment)).toMatchObject(PRINTED);
  });

  it('issue refuses a limit with which a token would never be admitted', async () => {
    const issue = (limit: string, variables: NodeJS.ProcessEnv) =>
      runCommand(['token', 'issue', '--name', 'x', '--limit', limit], {
        ...environment,
        RATE_LIMIT_REPLICAS: '4',
        ...variables,
      });
    const refused = await issue('3', {});
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toBe(
      'The token has a limit below RATE_LIMIT_REPLICAS: without REDIS_URL, instances share the limit, and each would admit none: write 4 or more, or set REDIS_URL.\n',
    );
    expect(await issue('4', {})).toMatchObject(PRINTED);
    expect(await issue('3', { REDIS_URL: 'redis://127.0.0.1:1' })).toMatchObject(PRINTED);
  });

  it('rotate takes an overlap of nothing, and a lifetime without an end', async () => {
    const ended = ['--overlap', '0h', '--expires', 'never'];
    const [issued] = auditOf(await cli('token', 'issue', '--name', 'short', '--expires', '1h'));
    const rotated = await cli('token', 'rotate', String(issued?.['tokenId']), ...ended);
    expect(rotated.stderr).toMatch(
      /^Issued token \S+ "short", valid until it is revoked\. .* The replaced token \S+ is no longer valid\.$/m,
    );
    const { stderr } = await cli('token', 'rotate', '0190163d-8694-739b-aea5-966c26f8ad91', ...ended);
    expect(stderr).toBe(
      'The token 0190163d-8694-739b-aea5-966c26f8ad91 is unknown. Rotate a token that is in use, see `token list`, or issue a new one.\n',
    );
  });

  it.each([
    ['unknown command', [misplaced]],
    ["required option '--name <name>' not specified", ['issue']],
    ['printable', ['issue', '--name', 'a\tb']],
    ['such as 90d, 24h or 30m, or never', ['issue', '--name', 'x', '--expires', '0h']],
    ["unknown option '--nmae'\n(Did you mean --name?)", ['issue', '--nmae', misplaced]],
    ["unknown option '--***'", ['list', `--${misplaced}`]],
    ['names are listed and logged', ['issue', '--name', misplaced]],
    ['such as 90d, 24h or 30m, or never', ['issue', '--name', 'x', '--expires', '3 weeks']],
    ['such as 90d, 24h or 30m, or 0h', ['rotate', '0190163d-8694-739b-aea5-966c26f8ad91', '--overlap', misplaced]],
    ...['0', '10001', '1.5', 'abc', '1e3', '-1', '', ' 5', '05', misplaced].map((limit): [string, string[]] => [
      'Write a whole number from 1 to 10000.',
      ['issue', '--name', 'x', '--limit', limit],
    ]),
    ["unknown option '--limit'", ['rotate', '0190163d-8694-739b-aea5-966c26f8ad91', '--limit', '5']],
    ['An id looks like', ['rotate', misplaced]],
    ['neither a token nor an id', ['revoke', jwt, '--reason', jwt]],
    ["arguments for 'revoke'. Expected 1 argument but got 2.\n", ['revoke', misplaced.slice(0, 20), misplaced.slice(20)]],
    [
      "arguments for 'list'. Expected 0 arguments but got 2.\n",
      ['list', misplaced.slice(0, 20), `${misplaced.slice(20)}: 1.\n`],
    ],
  ])('says what is wrong, "%s", and repeats no token', async (message, args) => {
    const { code, stdout, stderr } = await runCommand(['token', ...args], AWAY);
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining(message)]);
    expect(stderr).not.toMatch(new RegExp(`${misplaced.slice(6, 20)}|${misplaced.slice(20, 36)}|${jwt}`));
  });
});

describe('migrate', () => {
  it('alone changes the schema: other commands say that it must run, and it says what it did at any level of the log [doctor-changes-nothing] [schema-changes]', async () => {
    const database = await createTestDatabase('empty');
    const unmigrated = { ...database.environment, AUTH_TOKENS_FILE: '/none', LOG_LEVEL: 'silent' };
    for (const args of [['list'], ['issue', '--name', 'x'], ['revoke', misplaced]]) {
      const { code, stdout, stderr } = await runCommand(['token', ...args], unmigrated);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/^The database lacks migrations, such as CreateAccessTokens\d+: run "migrate"\.\n$/);
    }
    await runCli(['doctor'], database.environment);
    expect(await tablesOf(database)).toEqual([]);

    const first = await runCli(['migrate'], unmigrated);
    expect(first).toEqual({ code: 0, stdout: '', stderr: expect.stringMatching(/^Migrations applied: \d+\.\n$/) });
    const second = await runCommand(['migrate'], unmigrated);
    expect(second).toEqual({ code: 0, stdout: '', stderr: 'No pending migrations: nothing to apply.\n' });
    expect(await tablesOf(database)).toContain('items');
  });

  it('alone creates an embedded database', async () => {
    const DATA_DIR = join(testDirectory(), `cli-${process.pid}`);
    const listed = await runCommand(['token', 'list'], { DATA_DIR });
    const stderr = `The data directory ${DATA_DIR} has no database yet. Run "migrate", or start the service.\n`;
    expect([listed, existsSync(DATA_DIR)]).toEqual([{ code: 1, stdout: '', stderr }, false]);
    expect((await runCli(['migrate'], { DATA_DIR })).code).toBe(0);
    expect((await runCommand(['token', 'list'], { DATA_DIR })).code).toBe(0);
  });
});

describe('--help', () => {
  it.each([
    [{ npm_lifecycle_event: undefined }, ['--help'], /^Usage: node (\S+\/dist\/cli\.js) \[options\] \[command\]\n/],
    [{ npm_lifecycle_event: 'token' }, ['token', 'list', '--help'], /^Usage: npm run --silent token -- list \[options\]\n/],
  ])('begins with the command as it was called, %j %j [help-defaults]', async (variables, args, usage) => {
    const { code, stdout } = await runCommand(args, variables);
    expect([code, stdout]).toEqual([0, expect.stringMatching(usage)]);
  });

  it('has --version beside it', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(await runCli(['--version'], {})).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  it('names defaults in words [help-defaults]', async () => {
    const texts: string[] = [];
    for (const name of ['issue', 'rotate']) {
      texts.push((await runCommand(['token', name, '--help'], {})).stdout.replaceAll(/\s+/g, ' '));
    }
    expect(texts[0]).toMatch(
      /a duration such as 90d, 24h or 30m, or never \(default: never\) .* items:read \(default: all\) .* from 1 to 10000 \(default: RATE_LIMIT\)/,
    );
    expect(texts[1]).toMatch(/or 0h \(default: 24h\) .* or never \(default: as long as the old token\)/);
  });
});

it('openapi fails if the document cannot be written', () => {
  const out = openSync('/dev/full', 'w');
  const { status } = spawnSync(process.execPath, ['dist/cli.js', 'openapi'], { stdio: ['ignore', out, 'ignore'] });
  closeSync(out);
  expect(status).toBe(1);
});

it('reports a rejection that it does not handle with its message, without its other parts', async () => {
  // When the first signal is handled, long before the application is loaded.
  const reject = `() => Promise.reject({ message: 'No', input: '${misplaced}' })`;
  const early = `process.on('newListener', (name) => { if (name === 'SIGTERM') setTimeout(${reject}, 1) })`;
  const { code, stderr } = await runCli(['token', 'generate'], preload(early));
  expect([code, stderr]).toEqual([1, 'object: No\n']);
});
