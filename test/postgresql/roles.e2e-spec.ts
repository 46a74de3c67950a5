import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { doctor } from '../support/doctor.js';
import { askingForPasswords, PostgresServer } from '../support/postgres-server.js';
import { runCli, runServiceToEnd, ServiceProcess } from '../support/process.js';
import { query } from '../support/query.js';
import { declareToken } from '../support/tokens.js';

let server: PostgresServer;
/** The blocks of SQL of "Database roles" in docs/configuration.md. */
let blocks: string[];

beforeAll(async () => {
  server = await PostgresServer.start(askingForPasswords());
  const handbook = await readFile('docs/configuration.md', 'utf8');
  const [, section = ''] = /^## Database roles$(.*?)^## /ms.exec(handbook) ?? [];
  blocks = [...section.matchAll(/^```sql\n(.*?)^```$/gms)].map(([, block = '']) => block);
  expect(blocks).toHaveLength(4);
  const [create, restrict] = blocks;
  // As on managed PostgreSQL, which has no superuser.
  await server.query(`CREATE ROLE admin LOGIN CREATEROLE CREATEDB PASSWORD 'x'`);
  run(create);
  expect(await runCli(['migrate'], as('items_owner'))).toMatchObject({ code: 0 });
  run(restrict, 'items_owner', 'change-me-1');
});

const urlOf = (role: string, password: string, database = 'items') =>
  server.url.replace(/postgres@(.*)postgres$/, `${role}:${password}@$1${database}`);

/** Runs a block of the handbook as it would be pasted. */
const run = (block = '', role = 'admin', password = 'x') =>
  execFileSync('psql', ['-qX', '-v', 'ON_ERROR_STOP=1', urlOf(role, password, 'postgres')], { input: block });

/** The environment of a role, with the password that the handbook gives it. */
const as = (role: string) => {
  const [, password = ''] = RegExp(`ROLE ${role} .*PASSWORD '(.*)'`).exec(blocks.join('')) ?? [];
  return { DATABASE_URL: urlOf(role, password), MIGRATE_ON_START: 'false' };
};

it('the owner migrates, and either login of the runtime role can do all that the service needs and no more [runtime-role]', async () => {
  const [, , rotate, retire] = blocks;
  const { token, variables } = await declareToken();
  const first = await ServiceProcess.startReady({ ...as('items_a'), ...variables });
  expect((await first.client(token).create({ name: 'first' })).status).toBe(201);
  run(rotate);
  // Both work during the rollout.
  const second = await ServiceProcess.startReady({ ...as('items_b'), ...variables });
  expect((await second.client(token).create({ name: 'second' })).status).toBe(201);
  expect((await first.client(token).list()).body.items).toMatchObject([{ name: 'second' }, { name: 'first' }]);
  expect(await first.end('SIGTERM')).toBe(0);
  run(retire);

  const [a, b, owner] = await Promise.all(['items_a', 'items_b', 'items_owner'].map((role) => doctor(as(role))));
  expect(a?.faults).toMatch(/^fail database\.connection: .*password authentication failed for user "items_a"/);
  const fine = { 'database.rights.read': 'items_b in schema public', 'database.rights.use': 'as the entities need it' };
  expect([b?.outcome[0], b?.found, owner?.outcome[0]]).toEqual([0, expect.objectContaining(fine), 0]);
  const later = 'CREATE TABLE later (id serial)';
  await expect(query(as('items_b').DATABASE_URL, later)).rejects.toThrow('permission denied for schema public');
  await expect(query(as('items_b').DATABASE_URL, 'DELETE FROM migrations')).rejects.toThrow('permission denied');
  await query(as('items_owner').DATABASE_URL, later);
  expect(await query(as('items_b').DATABASE_URL, 'INSERT INTO later DEFAULT VALUES RETURNING id')).toEqual([{ id: 1 }]);
  expect(await second.end('SIGTERM')).toBe(0);
});

it('without the right to read which migrations are applied, the start, migrate and doctor name it, and the start waits for it [migrations-right-named]', async () => {
  await server.query(`CREATE ROLE barred LOGIN PASSWORD 'x' IN ROLE items_runtime`);
  await query(urlOf('postgres', ''), 'REVOKE SELECT ON migrations FROM items_runtime');
  const environment = { DATABASE_URL: urlOf('barred', 'x') };
  const fault =
    'The role barred may not read the table migrations: as items_owner, run GRANT SELECT ON migrations TO barred.';
  const service = await ServiceProcess.start(environment);
  await service.becomes(() => service.has('database not ready'));
  expect(service.linesOf('database not ready')[0]).toMatchObject({ reason: fault });
  expect(await runCli(['migrate'], environment)).toMatchObject({ code: 1, stderr: `${fault}\n` });
  const { outcome, faults, names } = await doctor(environment);
  expect(outcome).toEqual([1, 'fail', '']);
  expect(faults).toMatch(
    /^fail database\.rights\.read: barred in schema public → Run GRANT SELECT ON migrations TO <role> .*$/,
  );
  expect(names).not.toContain('database.migrations');
  await query(urlOf('items_owner', 'change-me-1'), 'GRANT SELECT ON migrations TO barred');
  await service.becomesReady();
  expect(await service.end('SIGTERM')).toBe(0);
});

it('without the rights on tables that it needs, the service does not start, and names what grants them, as doctor does; of others it warns [rights-named]', async () => {
  await server.query(`CREATE ROLE clerk LOGIN PASSWORD 'x'`);
  const asOwner = (sql: string) => query(urlOf('items_owner', 'change-me-1'), sql);
  await asOwner('GRANT SELECT ON migrations TO clerk');
  const { token, variables } = await declareToken();
  const environment = { ...variables, DATABASE_URL: urlOf('clerk', 'x'), MIGRATE_ON_START: 'false' };
  const lack = (entity: string, table: string, rights: string) =>
    `${entity}: the role clerk lacks ${rights} on "${table}". As items_owner, run GRANT ${rights} ON "${table}" TO clerk;`;
  const faults = [
    lack('AccessToken', 'access_tokens', 'SELECT'),
    lack('Item', 'items', 'SELECT, INSERT'),
    lack('StoredResponse', 'idempotency_keys', 'SELECT, INSERT, UPDATE, DELETE'),
  ];
  const warning = lack('AccessToken', 'access_tokens', 'INSERT, UPDATE, DELETE');
  const { code, stdout, stderr } = await runServiceToEnd(environment);
  expect([code, stderr.split('\n').slice(1, -1).toSorted()]).toEqual([1, faults.map((fault) => `- ${fault}`)]);
  expect(stdout).toContain(JSON.stringify(warning).slice(1, -1));
  const found = (await doctor(environment)).faults;
  for (const text of [...faults, warning]) expect(found).toContain(text);
  expect(found).toMatch(/^fail database\.rights\.use: /);

  for (const fault of faults) await asOwner(/GRANT.*;/.exec(fault)?.[0] ?? '');
  // Rights on the columns of an entity are enough.
  await asOwner('REVOKE INSERT ON items FROM clerk; GRANT INSERT (id, name, description) ON items TO clerk');
  const service = await ServiceProcess.startReady(environment);
  const client = service.client(token);
  expect((await client.post('{"name":"x"}', { 'Idempotency-Key': 'x' })).status).toBe(201);
  expect((await client.list({ limit: '1' })).body.items).toMatchObject([{ name: 'x' }]);
  expect(await service.end('SIGTERM')).toBe(0);
  const last = await doctor(environment);
  expect([last.outcome, last.faults]).toEqual([[0, 'warn', ''], expect.stringContaining(`rights.use: ${warning} →`)]);
});

it('commands say why a statement fails on a database that only reads, without a stack', async () => {
  await server.query('ALTER ROLE items_owner SET default_transaction_read_only = on');
  const issued = await runCli(['token', 'issue', '--name', 'x'], { DATABASE_URL: urlOf('items_owner', 'change-me-1') });
  const reason = 'cannot execute INSERT in a read-only transaction.';
  const stderr = `The database cannot be used: ${reason} Run "doctor" for details.\n`;
  expect(issued).toEqual({ code: 1, stdout: '', stderr });
});
