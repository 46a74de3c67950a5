import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tokenDigest, generateToken } from '../src/platform/auth/token-format.js';
import { Api, type ItemBody } from './support/api.js';
import { runServiceToEnd, ServiceProcess } from './support/process.js';
import { eventually, startService } from './support/service.js';
import { testDirectory } from './support/test-database.js';
import { useService } from './support/use-service.js';

/** The volume of a Secret, as the kubelet makes and changes it: the file is a link into the directory that `..data` links to. */
async function secretVolume(...initial: string[]) {
  const directory = await mkdtemp(join(testDirectory(), 'tokens-'));
  const path = join(directory, 'tokens');
  let version = 0;
  const change = async (...lines: string[]) => {
    version += 1;
    await mkdir(join(directory, `..version_${version}`));
    await writeFile(join(directory, `..version_${version}`, 'tokens'), lines.map((line) => `${line}\n`).join(''));
    await symlink(`..version_${version}`, join(directory, '..data_tmp'));
    await rename(join(directory, '..data_tmp'), join(directory, '..data'));
    await rm(join(directory, `..version_${version - 1}`), { recursive: true, force: true });
  };
  await change(...initial);
  await symlink(join('..data', 'tokens'), path);
  return { path, change };
}

describe('tokens of a file', () => {
  const [plain = '', hashed = '', reader = '', later = ''] = Array.from({ length: 4 }, generateToken);
  const initial = [
    '# by team',
    `plain:${plain}`,
    `hashed:${tokenDigest(hashed)}`,
    `reader:${tokenDigest(reader)}:items:read`,
  ];
  const noTokens = ['test', 'malformed'].map((text, index) => `no-token-${index}:${tokenDigest(text)}`);

  let volume: Awaited<ReturnType<typeof secretVolume>>;

  const service = useService(async () => {
    volume = await secretVolume(...initial, ...noTokens);
    return startService({ AUTH_TOKENS_FILE: volume.path });
  });
  const client = (token: string) => new Api(service.api.origin, token);
  const listsWith = async (token: string) => (await client(token).list()).status;

  it('are accepted, as a token or its SHA-256, beside those that were issued', async () => {
    for (const token of [plain, hashed, reader, service.api.token]) expect(await listsWith(token)).toBe(200);
    for (const token of [later, tokenDigest(hashed), 'test', 'mal=formed']) expect(await listsWith(token)).toBe(401);
  });

  it('have a rate limit and idempotency keys of their own [static-own-keys]', async () => {
    const create = (token: string) =>
      client(token).post<ItemBody>('{"name":"x"}', { 'Idempotency-Key': 'one-and-the-same' });
    const [first, again, another] = [await create(hashed), await create(hashed), await create(plain)];
    expect([first.status, first.headers.get('ratelimit')]).toEqual([201, expect.stringMatching(/^"default";r=\d+/)]);
    expect([again.body, another.body.id === first.body.id]).toEqual([first.body, false]);
  });

  it('come and go with the file, and with others of the same name, each with its scopes [static-token-removed] [static-reloaded]', async () => {
    await volume.change(...initial, `plain:${later}`);
    await eventually(async () => (await listsWith(later)) === 200);
    expect(await listsWith(plain)).toBe(200);
    await volume.change(...initial.filter((line) => !line.includes(plain)), `plain:${tokenDigest(later)}:items:read`);
    await eventually(async () => (await listsWith(plain)) === 401);
    expect(await listsWith(later)).toBe(200);
    expect((await client(later).create({ name: 'x' })).status).toBe(403);
  });
});

describe('a file of tokens', () => {
  const [first = '', second = ''] = Array.from({ length: 2 }, generateToken);

  it('that turns wrong leaves the tokens before in force, without the database, and the log has all of it [static-without-database] [static-invalid-later] [static-reloaded]', async () => {
    const volume = await secretVolume(`ci:${first}`);
    const DATABASE_URL = 'postgres://postgres@127.0.0.1:1/items';
    const service = await ServiceProcess.start({ AUTH_TOKENS_FILE: volume.path, DATABASE_URL });
    const statusWith = async (token: string) => (await service.client(token).call('GET', '/v1/nothing')).status;
    const isValid = () => service.metric('items_auth_tokens_file_valid');
    expect([await statusWith(first), await statusWith(second), await isValid()]).toEqual([404, 503, 1]);

    await volume.change(`ci:${second}`, `${first}:ci`);
    await eventually(() => service.has('tokens file rejected'));
    expect([await statusWith(first), await statusWith(second), await isValid()]).toEqual([404, 503, 0]);

    await volume.change(`deploy:${second}`);
    await eventually(() => service.linesOf('tokens file loaded').length === 2);
    expect([await statusWith(first), await statusWith(second), await isValid()]).toEqual([503, 404, 1]);

    const refused = service.linesOf('tokens file rejected, the previous tokens stay valid');
    expect(refused.map(({ faults }) => faults)).toEqual([[expect.stringContaining('line 2 has a token')]]);
    const audited = service.log.filter(({ context }) => context === 'Audit');
    expect(audited.map(({ msg, actor, reason, name, scopes }) => [msg, actor, reason, name, scopes])).toEqual([
      ['token.declared', 'AUTH_TOKENS_FILE', 'read at start', 'ci', 'all'],
      ['token.undeclared', 'AUTH_TOKENS_FILE', 'file changed', 'ci', 'all'],
      ['token.declared', 'AUTH_TOKENS_FILE', 'file changed', 'deploy', 'all'],
    ]);
    const log = JSON.stringify(service.log);
    for (const secret of [first, second, tokenDigest(first), tokenDigest(second)]) expect(log).not.toContain(secret);
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('that is wrong from the start ends it, and the message says where and how to fix it, but nothing of the file [static-invalid-start]', async () => {
    const { path } = await secretVolume(
      `ci:${first}`,
      `ci ${second}`,
      '',
      `${second}:ci`,
      `x:${first}:`,
      `x:${first}:limit=0`,
    );
    const { code, stdout, stderr } = await runServiceToEnd({ AUTH_TOKENS_FILE: path });
    expect([code, stdout]).toEqual([1, '']);
    const lines = [...stderr.matchAll(/^ {2}line (\d+) /gm)].map(([, line]) => line);
    expect(lines).toEqual(['2', '4', '5', '6']);
    for (const part of ['AUTH_TOKENS_FILE', path, 'name:sha256-or-token[:limit=1000][:scopes]'])
      expect(stderr).toContain(part);
    expect(stderr).not.toMatch(/items_[0-9A-Za-z]|\bat /);
  });
});
