import { createServer } from 'node:net';
import { listen } from '../support/listen.js';
import { askingForPasswords, PostgresServer } from '../support/postgres-server.js';
import { runServiceToEnd, ServiceProcess } from '../support/process.js';
import { eventually } from '../support/service.js';
import { createTestDatabase } from '../support/test-database.js';
import { declareToken } from '../support/tokens.js';

it('logs why the database is unavailable once, not for each request, and when it is available again [outage-logged-once]', async () => {
  const server = await PostgresServer.start(askingForPasswords());
  await server.query(`CREATE ROLE app LOGIN PASSWORD 'canary-1'`);
  await server.query('CREATE DATABASE app OWNER app');
  const DATABASE_URL = server.url.replace(/postgres@(.*)postgres$/, 'app:canary-1@$1app');
  const { token, variables } = await declareToken();
  const service = await ServiceProcess.startReady({ DATABASE_URL, ...variables });
  const client = service.client(token);
  expect((await client.list()).status).toBe(200);
  const causes = (msg: string) => service.linesOf(msg).map(({ level, reason }) => `${String(level)} ${String(reason)}`);

  /** Rejects new connections and ends those that exist. */
  const shut = async (statement: string) => {
    await server.query(statement);
    await server.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'`);
  };
  const refused = async (reason: string) => {
    await eventually(async () => {
      const replies = await Promise.all([client.list(), client.create({ name: 'x' }), client.send('GET', '/readyz')]);
      return (
        replies.every(({ status }) => status === 503) && causes('database unavailable').some((each) => each.includes(reason))
      );
    });
    for (let call = 0; call < 20; call += 1) {
      expect((await client.list()).status).toBe(503);
      expect((await client.send('GET', '/readyz')).status).toBe(503);
    }
    for (const msg of ['database unavailable', 'The database is not available.']) {
      expect(causes(msg).filter((each) => each.includes(reason))).toEqual([`warn No connection to the database. ${reason}`]);
    }
  };

  await shut(`ALTER ROLE app PASSWORD 'canary-2'`);
  await refused('password authentication failed for user "app"');
  await shut(`ALTER ROLE app NOLOGIN PASSWORD 'canary-1'`);
  await refused('role "app" is not permitted to log in');
  expect(service.has('database available again')).toBe(false);
  await server.query('ALTER ROLE app LOGIN');
  await service.becomesReady();
  expect((await client.list()).status).toBe(200);
  expect(service.linesOf('database available again')).toMatchObject([{ level: 'info' }]);

  // Another outage with the same cause is logged again.
  await shut(`ALTER ROLE app PASSWORD 'canary-2'`);
  await eventually(async () => {
    await client.send('GET', '/readyz');
    return causes('database unavailable').filter((each) => each.includes('password authentication failed')).length === 2;
  });
  expect(await service.end('SIGTERM')).toBe(0);
  expect(service.output.stdout + service.output.stderr).not.toContain('canary');
});

it('does not say that the database is not ready when the start ends for another reason', async () => {
  const { environment } = await createTestDatabase();
  const PORT = String(await listen(createServer()));
  const { code, stdout, stderr } = await runServiceToEnd({ ...environment, PORT, LOG_LEVEL: 'debug' });
  expect([code, stderr]).toEqual([1, expect.stringContaining(`Port ${PORT} is in use.`)]);
  expect(stdout).not.toContain('database not ready');
});
