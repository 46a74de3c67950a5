import { jest } from '@jest/globals';
import { Diagnosis } from '../support/doctor.js';
import { freePort } from '../support/free-port.js';
import { PgBouncer } from '../support/pgbouncer.js';
import { PostgresServer } from '../support/postgres-server.js';
import { runCli } from '../support/process.js';
import { RedisServer } from '../support/redis-server.js';
import { refusingRedis, silentServer } from '../support/refusing-servers.js';
import { onServerDatabase } from '../support/test-database.js';

let primary: PostgresServer;
let standby: PostgresServer;

beforeAll(async () => {
  primary = await PostgresServer.start();
  expect((await runCli(['migrate'], { DATABASE_URL: primary.url })).code).toBe(0);
  standby = await PostgresServer.startStandby(primary);
});

/** The database, so that nothing but what a test is about is found. */
const diagnose = (environment: NodeJS.ProcessEnv) => Diagnosis.of({ DATABASE_URL: primary.url, ...environment });

describe('of read replicas, doctor', () => {
  it('finds one that is up to date, and one that is behind', async () => {
    await primary.query(`INSERT INTO items (id, name) VALUES (gen_random_uuid(), 'early')`);
    await standby.catchesUpWith(primary);
    const current = await diagnose({ DATABASE_REPLICA_URLS: standby.url });
    expect(current.faults).toEqual({});
    expect(current.find('database.replica.1').found).toMatch(/as postgres, without TLS, (?:up to date|\d+ bytes behind.*)$/);
    await standby.query('SELECT pg_wal_replay_pause()');
    await primary.query(`INSERT INTO items (id, name) VALUES (gen_random_uuid(), 'late')`);
    const behind = await diagnose({ DATABASE_REPLICA_URLS: standby.url });
    expect(behind.find('database.replica.1').found).toMatch(/, \d+ bytes behind, replaying what is \d+ s old$/);
    await standby.query('SELECT pg_wal_replay_resume()');
  });

  it('finds those that are none, cannot be reached, or lack migrations', async () => {
    const other = await PostgresServer.start();
    const away = `postgres://127.0.0.1:${await freePort()}/postgres`;
    const urls = [other.url, primary.url, away, standby.url];
    await primary.query(`DELETE FROM migrations WHERE name LIKE 'AddTokenR%'`);
    await standby.catchesUpWith(primary);
    await standby.query('SELECT pg_wal_replay_pause()');
    await primary.query(`INSERT INTO migrations (timestamp, name) VALUES (1767225600006, 'AddTokenRotation1767225600006')`);
    const { faults, report } = await diagnose({ DATABASE_REPLICA_URLS: urls.join() });
    await standby.query('SELECT pg_wal_replay_resume()');
    await other.stop('immediate');
    expect(faults).toEqual({
      'database.replica.1': expect.stringMatching(/^failed: .*no replica of the database at DATABASE_URL/),
      'database.replica.2': expect.stringMatching(/^warning: .*the primary itself/),
      'database.replica.3': expect.stringMatching(/^warning: .*ECONNREFUSED.*Nothing listens there/),
      'database.replica.4': expect.stringMatching(/^warning: .*has not received AddTokenRotation\d+ yet/),
    });
    expect(report.status).toBe('failed');
  });

  it('finds that the database itself is one', async () => {
    const { faults } = await Diagnosis.of({ DATABASE_URL: standby.url });
    expect(faults).toEqual({
      'database.writable': expect.stringMatching(/^failed: the server is a standby.*DATABASE_REPLICA_URLS/),
    });
  });
});

describe('of PgBouncer, doctor', () => {
  let pooled: string;

  beforeAll(async () => {
    pooled = (await PgBouncer.start(primary.url, 2)).url;
  });

  it('finds it, where the way around it is not named', async () => {
    const { faults } = await Diagnosis.of({ DATABASE_URL: pooled });
    expect(faults).toEqual({
      'database.connection': expect.stringMatching(/unsupported startup parameter.*→ This is PgBouncer/),
    });
  });

  it('wants the time-outs of the role, and is content when it has them', async () => {
    const environment = { DATABASE_URL: pooled, DATABASE_DIRECT_URL: primary.url };
    const { faults } = await Diagnosis.of(environment);
    expect(Object.keys(faults)).toEqual(['database.pooler']);
    const [, mend = ''] = (faults['database.pooler'] ?? '').split('→ ');
    for (const line of mend.split('\n')) {
      const [statement = ''] = /^ALTER ROLE.*?'(?=,)/.exec(line) ?? [];
      await primary.query(statement.replace('…', 'postgres'));
    }
    // Another pooler: this one keeps its connections, which have the settings of before.
    const next = (await PgBouncer.start(primary.url, 2)).url;
    const mended = await Diagnosis.of({ ...environment, DATABASE_URL: next });
    await primary.query('ALTER ROLE postgres RESET ALL');
    expect(mended.faults).toEqual({});
    expect(mended.find('database.pooler').found).toContain('statement_timeout 4000 ms');
    expect(mended.find('database.connections').status).toBe('skipped');
  });

  it('finds that both ways do not lead to one database', async () => {
    await onServerDatabase(primary.url, 'CREATE DATABASE other');
    const direct = new URL(primary.url);
    direct.pathname = '/other';
    const { faults, find } = await Diagnosis.of({ DATABASE_URL: pooled, DATABASE_DIRECT_URL: direct.href }).then((diagnosis) => ({
      faults: diagnosis.faults,
      find: diagnosis.find('database.rights.migrate'),
    }));
    expect(faults['database.direct']).toMatch(/^failed: .*database other.*another database than that at DATABASE_URL/);
    expect(find).toMatchObject({ status: 'skipped', found: 'database.direct failed' });
  });
});

describe('of Redis, doctor', () => {
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await RedisServer.start();
  });

  const of = (url: string, environment: NodeJS.ProcessEnv = {}) =>
    diagnose({ REDIS_URL: url, REDIS_KEY_PREFIX: 'x:', ...environment });

  /** With a user of Redis who may do no more than is said. */
  async function as(user: string, ...rights: string[]): Promise<string> {
    await redis.command('ACL', 'SETUSER', user, 'reset', 'on', '>canaryhunter2', ...rights);
    return `redis://${user}:canaryhunter2@127.0.0.1:${redis.port}`;
  }

  /** What the service needs of Redis, as doctor itself advises. */
  const needed = [
    '~x:*',
    '+@connection',
    '+info',
    '+eval',
    '+evalsha',
    '+time',
    '+lindex',
    '+llen',
    '+ltrim',
    '+rpush',
    '+rpop',
    '+pexpire',
    '+set',
  ];

  it('finds nothing wrong, also with no more rights than it advises, and leaves no key that stays', async () => {
    const plain = await of(redis.url);
    expect(plain.faults).toEqual({});
    expect(plain.find('limiter.version').found).toMatch(/^\d+\.\d+\.\d+$/);
    expect(plain.find('limiter.memory').found).toBe('no maxmemory');
    expect(plain.find('limiter.script').found).toMatch(/^a call takes \d+\.\d ms/);
    expect(await redis.command('DBSIZE')).toBe(0);
    // Without the right to delete, keys end by themselves.
    const restricted = await of(await as('items', ...needed));
    expect(restricted.faults).toEqual({});
    const keys = (await redis.command('KEYS', '*')) as string[];
    expect(keys.every((key) => key.startsWith('x:'))).toBe(true);
    for (const key of keys) expect(Number(await redis.command('PTTL', key))).toBeLessThanOrEqual(1000);
  });

  it.each<[string, string[], RegExp]>([
    ['a key of its prefix', ['~y:*', ...needed.slice(1)], /^failed: .*(?:NOPERM|No permissions).*~x:\*/],
    ['scripts', [...needed, '-eval', '-evalsha'], /^failed: .*(?:NOPERM|no permissions).*\+eval/],
    ['a command of the script', [...needed, '-rpop'], /^failed: .*(?:NOPERM|ACL failure|can't run).*\+rpop/],
    ['the probe', [...needed, '-set'], /^failed: .*set.*\+set/],
  ])('finds a user who may not use %s', async (_case, rights, fault) => {
    const { faults } = await of(await as('less', ...rights));
    expect(faults).toEqual({ 'limiter.script': expect.stringMatching(fault) });
  });

  it('says what it may not ask, which is no fault', async () => {
    // Of ioredis, which says so, too.
    const warn = jest.spyOn(console, 'warn').mockReturnValue();
    const diagnosis = await of(await as('mute', ...needed, '-info'));
    warn.mockRestore();
    expect(diagnosis.faults).toEqual({});
    for (const name of ['limiter.version', 'limiter.memory']) {
      expect(diagnosis.find(name)).toEqual({ name, status: 'skipped', found: 'this user may not ask (INFO)' });
    }
  });

  it('finds a Redis that forgets when its memory is full', async () => {
    await redis.command('CONFIG', 'SET', 'maxmemory', '100mb');
    expect((await of(redis.url)).find('limiter.memory').found).toBe('maxmemory-policy noeviction');
    await redis.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    const { faults } = await of(redis.url);
    expect(faults).toEqual({
      'limiter.memory': expect.stringMatching(/^warning: maxmemory-policy allkeys-lru: when 104857600 bytes/),
    });
    await redis.command('CONFIG', 'SET', 'maxmemory', '0');
  });

  it('finds that it takes no writes', async () => {
    const replica = await RedisServer.start({ replicaof: `127.0.0.1 ${redis.port}` });
    const { faults } = await of(replica.url);
    expect(faults).toEqual({
      'limiter.script': expect.stringMatching(/^failed: .*(?:READONLY|read.only).*A replica takes no writes/i),
    });
    await replica.kill();
  });

  it.each<[string, () => string | Promise<string>, RegExp]>([
    [
      'a wrong password',
      () => `redis://less:canary-wrong@127.0.0.1:${redis.port}`,
      /WRONGPASS.*Correct the user and the password/,
    ],
    ['a closed port', async () => `redis://127.0.0.1:${await freePort()}`, /ECONNREFUSED.*Nothing listens there/],
    [
      'silence',
      async () => `redis://:canary-silent@127.0.0.1:${await silentServer()}`,
      /(?:ETIMEDOUT|No answer within).*Packets get lost/,
    ],
    ['no such database', () => `${redis.url}/99`, /DB index.*Correct the number/],
    [
      'one that repeats what it is told',
      async () => `redis://user:canary-told@127.0.0.1:${await refusingRedis()}`,
      /unknown command/,
    ],
  ])('explains %s', async (_case, url, fault) => {
    const diagnosis = await of(await url());
    expect(diagnosis.faults).toEqual({ 'limiter.connection': expect.stringMatching(fault) });
    expect(diagnosis.find('limiter.script')).toMatchObject({ status: 'skipped', found: 'limiter.connection failed' });
    expect(JSON.stringify(diagnosis.report)).not.toContain('canary');
  });
});

it('ends though nobody answers', async () => {
  const silent = `127.0.0.1:${await silentServer()}`;
  const { code, stdout } = await runCli(['doctor', '--json'], {
    DATABASE_URL: `postgres://user:canary@${silent}/items`,
    DATABASE_DIRECT_URL: `postgres://user:canary@${silent}/items`,
    DATABASE_REPLICA_URLS: `postgres://user:canary@${silent}/items`,
    REDIS_URL: `redis://:canary@${silent}`,
    AUTH_JWT_ISSUER: `http://${silent}`,
    AUTH_JWT_AUDIENCE: 'items',
  });
  const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string }[] };
  const failed = checks.filter(({ status }) => status === 'failed').map(({ name }) => name);
  expect([code, failed]).toEqual([1, ['auth.issuer-keys', 'database.connection', 'limiter.connection']]);
});
