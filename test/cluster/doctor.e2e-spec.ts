import { readFile } from 'node:fs/promises';
import { createRedis, RedisWindow } from '../../src/platform/throttling/redis-window.js';
import { doctor, examined, preload } from '../support/doctor.js';
import { eventually } from '../support/eventually.js';
import { IGNORE_LIMITS, startPgBouncer } from '../support/pgbouncer.js';
import { PostgresServer } from '../support/postgres-server.js';
import { runCli } from '../support/process.js';
import { locationOf, RedisServer } from '../support/redis.js';
import { refusingPostgres, silentServer } from '../support/refusing-servers.js';
import { query } from '../support/query.js';

const AWAY = '127.0.0.1:1';

let primary: PostgresServer;
let standby: PostgresServer;
let redis: RedisServer;
let pooled: string;
/** As `docs/scaling.md` says. */
const LIMITS = ['statement_timeout = 4000', 'lock_timeout = 2000', 'idle_in_transaction_session_timeout = 4000'];

beforeAll(async () => {
  [primary, redis] = await Promise.all([PostgresServer.start(), RedisServer.start()]);
  await primary.query('CREATE ROLE barred LOGIN; CREATE ROLE limited LOGIN SUPERUSER');
  for (const limit of LIMITS) await primary.query(`ALTER ROLE limited SET ${limit}`);
  expect((await runCli(['migrate'], { DATABASE_URL: primary.url })).code).toBe(0);
  await primary.query('CREATE DATABASE model TEMPLATE postgres');
  standby = await PostgresServer.startStandby(primary);
  const newer = `INSERT INTO migrations (timestamp, name) VALUES (1999999999999, 'AddColors1999999999999')`;
  const statements = [...LIMITS.map((limit) => `ALTER DATABASE pooled SET ${limit}`), newer];
  pooled = await startPgBouncer(await create('pooled', statements.join(';')), 2);
});

/** Another database, with the migrations and what a statement made of them. @returns its URL */
async function create(name: string, statement?: string): Promise<string> {
  await primary.query(`CREATE DATABASE ${name} TEMPLATE ${statement === undefined ? 'template0' : 'model'}`);
  const url = Object.assign(new URL(primary.url), { pathname: name }).href;
  await query(url, statement ?? 'SELECT');
  return url;
}

it.each<[string, () => Promise<NodeJS.ProcessEnv> | NodeJS.ProcessEnv, RegExp]>([
  [
    'a database away',
    () => ({ DATABASE_URL: `postgres://${AWAY}/x` }),
    /^fail database\.connection: .*ECONNREFUSED.*Correct the URL.*$/,
  ],
  [
    'a wrong password',
    async () => ({ DATABASE_URL: `postgres://user:canary@127.0.0.1:${await refusingPostgres()}/x` }),
    /^fail database\.connection: .*password authentication failed.*$/,
  ],
  [
    'PgBouncer alone',
    () => ({ DATABASE_URL: pooled }),
    /^fail database\.connection: .*unsupported.*set DATABASE_DIRECT_URL.*$/,
  ],
  [
    'a pooler whose sessions have no limits',
    async () => ({ DATABASE_URL: await startPgBouncer(primary.url, 1), DATABASE_DIRECT_URL: primary.url }),
    new RegExp(
      String.raw`^fail database\.timeouts: (?:\w+_timeout = 0(?:, )?){3} → Run ${LIMITS.map((limit) => `ALTER ROLE <role> SET ${limit};`).join(' ')} .*$`,
    ),
  ],
  [
    'a pooler that ignores limits',
    async () => ({
      DATABASE_URL: await startPgBouncer(primary.url, 1, IGNORE_LIMITS),
    }),
    /^fail database\.timeouts: .*statement_timeout = 0.* set DATABASE_DIRECT_URL .*$/,
  ],
  [
    'a pooler that ignores limits, which the role has itself',
    async () => ({
      DATABASE_URL: await startPgBouncer(primary.url.replace('postgres@', 'limited@'), 1, IGNORE_LIMITS),
    }),
    /^fail database\.timeouts: .*statement_timeout = 4000.* set DATABASE_DIRECT_URL .*$/,
  ],
  [
    'a primary that is read-only',
    async () => ({ DATABASE_URL: await create('frozen', 'ALTER DATABASE frozen SET default_transaction_read_only = on') }),
    /^fail database\.writable: read-only: default_transaction_read_only is on → .*default_transaction_read_only to off\.$/,
  ],
  [
    'a standby',
    () => ({ DATABASE_URL: standby.url }),
    /^fail database\.writable: standby → Set DATABASE_URL to the primary.*$/,
  ],
  ['a replica away', () => ({ DATABASE_READ_URL: `postgres://${AWAY}/x` }), /^warn database\.replica: .*ECONNREFUSED.*$/],
  [
    'another database for a replica',
    async () => ({ DATABASE_READ_URL: await create('stranger') }),
    /^warn database\.replica\.origin: DATABASE_READ_URL must lead to streaming replicas .*$/,
  ],
  [
    'a pooler in front of a replica',
    async () => ({ DATABASE_READ_URL: await startPgBouncer(standby.url, 1) }),
    /^warn database\.replica: .*unsupported startup parameter: .*$/,
  ],
  [
    'a pooler in front of a replica that ignores limits, which the role has itself',
    async () => ({
      DATABASE_READ_URL: await startPgBouncer(standby.url.replace('postgres@', 'limited@'), 1, IGNORE_LIMITS),
    }),
    /^warn database\.replica\.origin: .* not through a pooler\. → .*$/,
  ],
  [
    'a role that may not migrate',
    async () => ({ DATABASE_URL: (await create('elsewhere')).replace('postgres@', 'barred@') }),
    /^warn database\.extensions: pg_trgm is not .*\nfail database\.rights\.migrate: barred in schema public → Run GRANT CREATE.*$/,
  ],
  [
    'a role that does not own the migrations',
    async () => {
      const lacks = `DELETE FROM migrations WHERE name LIKE 'AddTokenR%'`;
      const grants = 'GRANT SELECT ON migrations TO barred; GRANT CREATE ON SCHEMA public TO barred';
      const url = (await create('unowned', `${lacks}; ${grants}`)).replace('postgres@', 'barred@');
      return { DATABASE_URL: url, MIGRATE_ON_START: 'false' };
    },
    /^warn database\.migrations: pending: .*\nwarn database\.rights\.migrate: barred in schema public → .* the role that owns the tables\.$/,
  ],
  [
    'a role that may only read the tables',
    async () => ({
      DATABASE_URL: (await create('closed', 'GRANT SELECT ON ALL TABLES IN SCHEMA public TO barred')).replace(
        'postgres@',
        'barred@',
      ),
    }),
    /^fail database\.rights\.use: (?:.*\n)*Item: the role barred lacks INSERT on "items"\. As postgres, run GRANT INSERT /,
  ],
  [
    'indexes that were dropped or not built to the end',
    async () => {
      const unfinished = `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'items_name_id_idx'::regclass`;
      return { DATABASE_URL: await create('unindexed', `DROP INDEX items_name_trigrams_idx; ${unfinished}`) };
    },
    new RegExp(
      String.raw`^warn database\.indexes: Item\.name: filters do without the index items_name_id_idx: .*, run one by one: DROP INDEX CONCURRENTLY IF EXISTS "items_name_id_idx"; CREATE INDEX .*;\n` +
        String.raw`.* the index items_name_trigrams_idx: it is missing or invalid\. .* run one by one: CREATE EXTENSION .*"pg_trgm"; DROP .* → Run the SQL\.$`,
    ),
  ],
  [
    'a role that may not read which migrations are applied',
    async () => ({
      DATABASE_URL: (await create('sealed', 'GRANT SELECT ON items TO barred')).replace('postgres@', 'barred@'),
    }),
    /^fail database\.rights\.read: barred in schema public → Run GRANT SELECT ON migrations TO <role> .*$/,
  ],
  [
    'other migrations',
    async () => ({
      DATABASE_URL: await create('behind', `UPDATE migrations SET name = 'AddColors1' WHERE name LIKE 'AddTokenR%'`),
      MIGRATE_ON_START: 'false',
    }),
    /^warn database\.migrations: pending: AddTokenRotation\d+; of a newer version: AddColors1 → Run migrate\.$/,
  ],
  [
    'Redis away',
    () => ({ REDIS_URL: `redis://${AWAY}` }),
    /^fail limiter\.connection: .*ECONNREFUSED.*→ Start Redis, correct REDIS_URL, or .*$/,
  ],
  [
    'a database that Redis lacks',
    () => ({ REDIS_URL: `${redis.url}/99` }),
    /^fail limiter\.connection: .*DB index is out of range.*$/,
  ],
  [
    'a Redis user that may not run scripts',
    async () => {
      await redis.command('ACL', 'SETUSER', 'barred', 'on', 'nopass', '~*', '+@all', '-@scripting');
      return { REDIS_URL: redis.url.replace('//', '//barred:canary@') };
    },
    /^fail limiter\.connection: NOPERM .*$/,
  ],
  ...['evalsha', 'rpush', 'pexpire'].map((command): [string, () => Promise<NodeJS.ProcessEnv>, RegExp] => [
    `a Redis user without the right to ${command}`,
    async () => {
      await redis.command('ACL', 'SETUSER', 'half', 'reset', 'on', '>canary', '~*', '+@all', `-${command}`);
      return { REDIS_URL: redis.url.replace('//', '//half:canary@') };
    },
    /^fail limiter\.connection: .*(?:permission|can't run this command).*run ACL SETUSER .*$/,
  ]),
  [
    'a Redis without the replicas that it needs for writes',
    async () => ({ REDIS_URL: (await RedisServer.start({ 'min-replicas-to-write': '1' })).url }),
    /^fail limiter\.connection: .*NOREPLICAS .*$/,
  ],
  [
    'a Redis that forgets',
    async () => ({ REDIS_URL: (await RedisServer.start({ maxmemory: '100mb', 'maxmemory-policy': 'allkeys-lru' })).url }),
    /^warn limiter\.server: .*allkeys-lru → .*noeviction.*$/,
  ],
  [
    'a Redis without free memory',
    async () => ({ REDIS_URL: (await RedisServer.start({ maxmemory: '1', 'maxmemory-policy': 'noeviction' })).url }),
    /^warn limiter\.server: .*used_memory \d{3,}, maxmemory 1, .*more memory than it uses.*$/,
  ],
  [
    'a replica of Redis',
    async () => ({ REDIS_URL: (await RedisServer.start({ replicaof: `127.0.0.1 ${redis.port}` })).url }),
    /^warn limiter\.server: \d.*, slave, .*Use the master.*$/,
  ],
  [
    'a Redis user without the right to INFO',
    async () => {
      await redis.command('ACL', 'SETUSER', 'mute', 'reset', 'on', '>canary', '~*', '+@all', '-info');
      return { REDIS_URL: redis.url.replace('//', '//mute:canary@') };
    },
    /^warn limiter\.server: .*permission.*$/,
  ],
])('finds %s [doctor-pooler-timeouts]', async (_case, environment, expected) => {
  const { faults } = await examined({ DATABASE_URL: primary.url, ...(await environment()) });
  expect(faults).toMatch(expected);
  expect(faults).not.toContain('canary');
});

it('names the rights that a user of Redis needs', async () => {
  await redis.command('ACL', 'SETUSER', 'least', 'reset', 'on', '>canary');
  const REDIS_URL = `${redis.url.replace('//', '//least:canary@')}/1`;
  const environment = { DATABASE_URL: primary.url, REDIS_URL, REDIS_KEY_PREFIX: 'least:' };
  const [, rights = ''] = / run ACL SETUSER <user> (.*): until then/.exec((await doctor(environment)).faults) ?? [];
  await redis.command('ACL', 'SETUSER', 'least', ...rights.split(' '));
  expect((await doctor(environment)).faults).not.toContain('limiter');
  const location = locationOf(REDIS_URL);
  const connection = createRedis(location);
  await connection.connect();
  const limit = new RedisWindow(connection, environment.REDIS_KEY_PREFIX);
  const hit = async () => (await limit.hit('token', 1, 200)).admitted;
  expect([await hit(), await hit()]).toEqual([true, false]);
  await eventually(hit);
  connection.disconnect();
});

it('finds a clock that is ahead', async () => {
  const ahead = preload('const now = Date.now; Date.now = () => now() + 5000');
  const { faults } = await doctor({ DATABASE_URL: primary.url, ...ahead });
  expect(faults).toMatch(
    /^warn database\.clock: the database is -[45]\d{3} ms ahead.*NTP.*restart instances that were ahead.*$/,
  );
});

it('finds nothing wrong where nothing is, changes nothing, and its checks are those of the handbook [doctor-changes-nothing]', async () => {
  const empty = await create('empty');
  const [direct, copy] = [primary, standby].map(({ url }) => Object.assign(new URL(url), { pathname: 'pooled' }).href);
  const others = { DATABASE_DIRECT_URL: direct, DATABASE_READ_URL: copy, REDIS_URL: redis.url };
  const reports = await Promise.all([
    doctor({ DATABASE_URL: primary.url }),
    doctor({ DATABASE_URL: pooled, ...others }),
    doctor({ DATABASE_URL: empty }),
  ]);
  expect(reports.map(({ outcome, faults }) => [outcome, faults])).toEqual(reports.map(() => [[0, 'ok', ''], '']));
  const tables = await query(empty, "SELECT FROM pg_tables WHERE schemaname = 'public'");
  expect([tables, await redis.command('DBSIZE')]).toEqual([[], 0]);
  expect(reports[0].found).toMatchObject({
    'database.tls': 'not encrypted, to this machine',
    'database.extensions': 'pg_trgm is installed',
    'database.clock': expect.stringMatching(/^the database is -?\d+ ms ahead/),
    'database.migrations': 'nothing to apply',
  });
  expect(reports[1].found['database.migrations']).toBe('nothing to apply; of a newer version: AddColors1999999999999');
  const [, handbook = ''] = (await readFile('docs/operations.md', 'utf8')).split(/^## (?=Doctor$|Metrics$)/m);
  const rows = [...handbook.matchAll(/^\| (`[a-z.-]+`(?:, `[a-z.-]+`)*) +\|/gm)].map(([, names = '']) => names);
  const documented = rows.flatMap((names) => [...names.matchAll(/`(.*?)`/g)].map(([, name = '']) => name));
  const names = new Set(['data-directory', ...reports.flatMap((report) => report.names)]);
  expect(documented.toSorted()).toEqual([...names].toSorted());
});

it('needs one connection, which is all that a full server may have, and says that the service needs more', async () => {
  await primary.query('CREATE ROLE single LOGIN CONNECTION LIMIT 1 IN ROLE pg_read_all_data, pg_write_all_data');
  const { href: DATABASE_URL } = Object.assign(new URL(primary.url), { username: 'single' });
  const { outcome, faults } = await doctor({
    DATABASE_URL,
    DATABASE_POOL_SIZE: '2',
    RATE_LIMIT_REPLICAS: '3',
    REDIS_URL: redis.url,
  });
  expect([outcome, faults]).toEqual([
    [0, 'warn', ''],
    expect.stringMatching(/^warn database\.connections: 1 allowed, 6 needed.*$/),
  ]);
});

it('ends though no server responds [doctor-check-time]', async () => {
  const silent = `user:canary@127.0.0.1:${await silentServer()}`;
  const urls = {
    DATABASE_URL: `postgres://${silent}/x`,
    DATABASE_READ_URL: `postgres://${silent}/x`,
    REDIS_URL: `redis://${silent}`,
  };
  const { faults } = await doctor({ ...urls, AUTH_JWT_ISSUER: `http://${silent.slice(12)}`, AUTH_JWT_AUDIENCE: 'items' });
  expect(faults).toMatch(
    /^fail auth\.issuer-keys: .*\nfail limiter\.connection: .*\nfail database\.connection: .*\nwarn database\.replica: .*$/,
  );
});
