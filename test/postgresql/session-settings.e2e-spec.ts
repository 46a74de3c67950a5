import { Pool } from 'pg';
import { DatabaseClient } from '../../src/platform/database/database-client.js';
import { doctor } from '../support/doctor.js';
import { runCli, ServiceProcess } from '../support/process.js';
import { query } from '../support/query.js';
import { declareToken } from '../support/tokens.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';

let database: TestDatabase;
let url: string;
let name: string;

beforeEach(async () => {
  database = await createTestDatabase();
  url = databaseUrlOf(database);
  name = new URL(url).pathname.slice(1);
});

afterEach(() => database.drop());

describe.each(['German', 'Postgres'])('with the DateStyle %s of the database', (style) => {
  let token: string;

  beforeEach(async () => {
    await query(url, `ALTER DATABASE ${name} SET DateStyle = ${style}`);
    expect((await runCli(['migrate'], { DATABASE_URL: url })).code).toBe(0);
    const issued = await runCli(['token', 'issue', '--name', 'revoked', '--expires', '1d'], { DATABASE_URL: url });
    token = issued.stdout.trim();
    const [row] = await query(url, 'SELECT id FROM access_tokens');
    expect((await runCli(['token', 'revoke', String(row?.['id'])], { DATABASE_URL: url })).code).toBe(0);
  });

  it('refuses a token that is revoked, also without other startup parameters and with those of the URL [date-style]', async () => {
    // As to a pooler, which rejects the time limits.
    const pooled = { DATABASE_URL: url, DATABASE_DIRECT_URL: url };
    const environments = [{ DATABASE_URL: url }, pooled, { DATABASE_URL: `${url}?options=-c%20DateStyle%3DSQL` }];
    for (const environment of environments) {
      const service = await ServiceProcess.startReady(environment);
      expect((await service.client(token).list()).status).toBe(401);
      expect(await service.end('SIGTERM')).toBe(0);
    }
    expect((await runCli(['token', 'list'], pooled)).stdout).toMatch(/revoked .* 20\d\d-\d\d-\d\dT/);
  });
});

it('reads no time as null in a session whose style changed [date-style]', async () => {
  const pool = new Pool({ connectionString: url, Client: DatabaseClient });
  const client = await pool.connect();
  const select = () => client.query("SELECT now() AS at, NULL::timestamptz AS none, 'infinity'::date AS end");
  expect((await select()).rows).toEqual([{ at: expect.any(Date), none: null, end: Infinity }]);
  await client.query("SET DateStyle = 'German'");
  await expect(select()).rejects.toThrow(/^PostgreSQL sent a time as ".*": set DateStyle to ISO/);
  client.release();
  await pool.end();
});

it('creates items with keys in any default isolation of the database [isolation-of-keys]', async () => {
  await query(url, `ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`);
  const { token, variables } = await declareToken();
  const service = await ServiceProcess.startReady({ DATABASE_URL: url, ...variables });
  // Whether two transactions conflict depends on the time, but in which isolation they run does not.
  await query(
    url,
    `CREATE FUNCTION require_read_committed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       ASSERT current_setting('transaction_isolation') = 'read committed'; RETURN NEW; END $$;
     CREATE TRIGGER isolation BEFORE INSERT ON items FOR EACH ROW EXECUTE FUNCTION require_read_committed()`,
  );
  const client = service.client(token);
  const statuses = [];
  for (let wave = 0; wave < 10; wave += 1) {
    const creates = Array.from({ length: 100 }, (_, index) => {
      const key = `${wave}-${index % 50}`;
      return client.post(`{"name":"${key}"}`, { 'Idempotency-Key': key });
    });
    statuses.push(...(await Promise.all(creates)).map(({ status }) => status));
  }
  expect(statuses.filter((status) => status !== 201)).toEqual([]);
  expect(await query(url, 'SELECT count(*)::int AS items FROM items')).toEqual([{ items: 500 }]);
  await service.end('SIGTERM');
});

it('finds every match of a filter, also if the database limits the results of its indexes', async () => {
  await query(url, `ALTER DATABASE ${name} SET gin_fuzzy_search_limit = 10`);
  expect((await runCli(['migrate'], { DATABASE_URL: url })).code).toBe(0);
  await query(
    url,
    `INSERT INTO items SELECT (lpad(to_hex(1767225600000 + n), 12, '0') || '70008' || lpad(to_hex(n), 15, '0'))::uuid,
       CASE WHEN n % 100 = 0 THEN 'zebra ' ELSE 'other ' END || n FROM generate_series(1, 50000) n;
     ANALYZE items`,
  );
  const { token, variables } = await declareToken();
  for (const pooler of [{}, { DATABASE_DIRECT_URL: url }]) {
    const service = await ServiceProcess.startReady({ DATABASE_URL: url, ...pooler, ...variables });
    const filter = encodeURIComponent('name.contains("zebra") && name.contains("377")');
    const { status, body } = await service.client(token).list(`filter=${filter}`);
    expect([status, body]).toMatchObject([200, { items: [{ name: 'zebra 37700' }] }]);
    await service.end('SIGTERM');
  }
});

it('doctor names active row security, a missing schema, and a database that is not in UTF-8', async () => {
  await runCli(['migrate'], { DATABASE_URL: url });
  const role = `${name}_role`;
  await query(url, `CREATE ROLE ${role} LOGIN`);
  await query(url, `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`);
  await query(url, 'ALTER TABLE items ENABLE ROW LEVEL SECURITY');
  const as = { DATABASE_URL: databaseUrlOf(database, role), MIGRATE_ON_START: 'false' };
  expect((await doctor(as)).faults).toMatch(
    /^warn database\.rights\.rows: row security is active: "items" → Policies hide/m,
  );
  // Its own session is of another role, as the server shows it.
  await query(url, `ALTER ROLE ${role} SET role = pg_monitor`);
  expect((await doctor(as)).found['database.tls']).toBe('not encrypted, to this machine');
  await query(url, `ALTER ROLE ${role} RESET role`);
  await query(url, 'REVOKE USAGE ON SCHEMA public FROM PUBLIC');
  expect((await doctor(as)).faults).toMatch(/^fail database\.rights\.read: .* in schema \(none\) → .*correct search_path/m);
  await query(url, `DROP OWNED BY ${role}; DROP ROLE ${role}`);

  const other = `${name}_ascii`;
  await query(url, `CREATE DATABASE ${other} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0`);
  const { faults } = await doctor({ DATABASE_URL: url.replace(name, other) });
  await query(url, `DROP DATABASE ${other} WITH (FORCE)`);
  expect(faults).toMatch(/^fail database\.encoding: SQL_ASCII → Create a database with ENCODING 'UTF8'/m);
});

it('doctor names a pg_trgm whose operators are not found, and the role to change', async () => {
  await query(url, 'CREATE SCHEMA "Else-where"; CREATE EXTENSION pg_trgm SCHEMA "Else-where"');
  const fault =
    /^warn database\.extensions: pg_trgm is in the schema Else-where, .*run ALTER ROLE <role> SET search_path\.$/m;
  expect((await doctor({ DATABASE_URL: url })).faults).toMatch(fault);
  await query(url, `ALTER DATABASE ${name} SET search_path = public, "Else-where"`);
  expect((await runCli(['migrate'], { DATABASE_URL: url })).code).toBe(0);
  expect((await doctor({ DATABASE_URL: url })).found).toMatchObject({
    'database.extensions': 'pg_trgm is installed',
    'database.indexes': 'as the entities need it',
  });
});
