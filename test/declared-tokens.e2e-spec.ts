import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOf, generateToken } from '../src/platform/auth/token-format.js';
import { Api, type ItemBody } from './support/api.js';
import { runServiceToEnd, ServiceProcess } from './support/process.js';
import { eventually, type Service, startService } from './support/service.js';
import { testDirectory } from './support/test-database.js';

const sha256 = (token: string) => digestOf(token).toString('hex');

/** The volume of a Secret, as the kubelet makes and changes it: the file is a link into the directory that `..data` links to. */
class SecretVolume {
  readonly path: string;
  private version = 0;

  private constructor(private readonly directory: string) {
    this.path = join(directory, 'tokens');
  }

  static async of(...lines: string[]): Promise<SecretVolume> {
    const volume = new SecretVolume(await mkdtemp(join(testDirectory(), 'tokens-')));
    await volume.change(...lines);
    await symlink(join('..data', 'tokens'), volume.path);
    return volume;
  }

  async change(...lines: string[]): Promise<void> {
    const before = join(this.directory, `..version_${this.version}`);
    this.version += 1;
    const after = join(this.directory, `..version_${this.version}`);
    await mkdir(after);
    await writeFile(join(after, 'tokens'), lines.map((line) => `${line}\n`).join(''));
    await symlink(`..version_${this.version}`, join(this.directory, '..data_tmp'));
    await rename(join(this.directory, '..data_tmp'), join(this.directory, '..data'));
    await rm(before, { recursive: true, force: true });
  }
}

describe('tokens of a file', () => {
  const [plain = '', hashed = '', reader = '', later = ''] = Array.from({ length: 4 }, generateToken);
  const initial = ['# by team', `plain:${plain}`, `hashed:${sha256(hashed)}`, `reader:${sha256(reader)}:items:read`];
  const noTokens = ['test', 'malformed'].map((text, index) => `no-token-${index}:${sha256(text)}`);

  let volume: SecretVolume;
  let service: Service;

  const client = (token: string) => new Api(service.api.origin, token);
  const listsWith = async (token: string) => (await client(token).list()).status;

  beforeAll(async () => {
    volume = await SecretVolume.of(...initial, ...noTokens);
    service = await startService({ AUTH_TOKENS_FILE: volume.path });
  });

  afterAll(() => service.stop());

  it('are accepted, as a token or its SHA-256, beside those that were issued', async () => {
    for (const token of [plain, hashed, reader, service.api.token]) expect(await listsWith(token)).toBe(200);
    for (const token of [later, sha256(hashed), 'test', 'mal=formed']) expect(await listsWith(token)).toBe(401);
  });

  it('are restricted to their scopes, or not at all', async () => {
    const { status, headers } = await client(reader).create({ name: 'x' });
    expect(status).toBe(403);
    expect(headers.get('www-authenticate')).toBe('Bearer realm="items", error="insufficient_scope", scope="items:write"');
  });

  it('have a rate limit and idempotency keys of their own', async () => {
    const create = (token: string) => client(token).post<ItemBody>('{"name":"x"}', { 'Idempotency-Key': 'one-and-the-same' });
    const { status, headers, body } = await create(hashed);
    expect([status, headers.get('ratelimit')]).toEqual([201, expect.stringMatching(/^"default";r=\d+/)]);
    expect((await create(hashed)).body).toEqual(body);
    expect((await create(plain)).body.id).not.toBe(body.id);
  });

  it('come and go with the file, and with others of the same name', async () => {
    await volume.change(...initial, `plain:${later}`);
    await eventually(async () => (await listsWith(later)) === 200);
    expect(await listsWith(plain)).toBe(200);
    await volume.change(...initial.filter((line) => !line.includes(plain)), `plain:${sha256(later)}:items:read`);
    await eventually(async () => (await listsWith(plain)) === 401);
    expect(await listsWith(later)).toBe(200);
    expect((await client(later).create({ name: 'x' })).status).toBe(403);
  });
});

describe('a file of tokens', () => {
  const [first = '', second = ''] = Array.from({ length: 2 }, generateToken);

  it('that turns wrong leaves the tokens before in force, without the database, and the log has all of it', async () => {
    const volume = await SecretVolume.of(`ci:${first}`);
    const DATABASE_URL = 'postgres://postgres@127.0.0.1:1/items';
    const service = await ServiceProcess.start({ AUTH_TOKENS_FILE: volume.path, DATABASE_URL });
    const statusWith = async (token: string) => (await service.client(token).call('GET', '/v1/nothing')).status;
    const isValid = () => service.metric('items_auth_tokens_file_valid');
    expect([await statusWith(first), await statusWith(second), await isValid()]).toEqual([404, 503, 1]);

    await volume.change(`ci:${second}`, `${first}:ci`);
    await eventually(() => service.has('tokens file refused'));
    expect([await statusWith(first), await statusWith(second), await isValid()]).toEqual([404, 503, 0]);

    await volume.change(`deploy:${second}`);
    await eventually(() => service.linesOf('tokens file in force').length === 2);
    expect([await statusWith(first), await statusWith(second), await isValid()]).toEqual([503, 404, 1]);

    const refused = service.linesOf('tokens file refused, the tokens before it stay in force');
    expect(refused.map(({ faults }) => faults)).toEqual([
      [expect.stringContaining('line 2 has a token'), expect.stringContaining('line 2 has neither')],
    ]);
    const audited = service.log.filter(({ context }) => context === 'Audit');
    expect(audited.map(({ msg, actor, reason, name, scopes }) => [msg, actor, reason, name, scopes])).toEqual([
      ['token.declared', 'AUTH_TOKENS_FILE', 'read at start', 'ci', 'all'],
      ['token.undeclared', 'AUTH_TOKENS_FILE', 'file changed', 'ci', 'all'],
      ['token.declared', 'AUTH_TOKENS_FILE', 'file changed', 'deploy', 'all'],
    ]);
    const log = JSON.stringify(service.log);
    for (const secret of [first, second, sha256(first), sha256(second)]) expect(log).not.toContain(secret);
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('that is wrong from the start ends it, and the message says where and how to fix it, but nothing of the file', async () => {
    const { path } = await SecretVolume.of(`ci:${first}`, `ci ${second}`, '', `${second}:ci`, `x:${first}:`);
    const { code, stdout, stderr } = await runServiceToEnd({ AUTH_TOKENS_FILE: path });
    expect([code, stdout]).toEqual([1, '']);
    const lines = [...stderr.matchAll(/^ {2}line (\d+) /gm)].map(([, line]) => line);
    expect(lines).toEqual(['2', '4', '4', '5', '5']);
    for (const part of ['AUTH_TOKENS_FILE', path, 'name:sha256-or-token[:scopes]']) expect(stderr).toContain(part);
    expect(stderr).not.toMatch(/items_[0-9A-Za-z]|\bat /);
  });
});
