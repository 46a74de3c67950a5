import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { accountOf, serverDirectory } from '../support/child.js';
import { connectTo } from '../support/connect.js';
import { examined } from '../support/doctor.js';
import { open } from '../support/flood.js';
import { listen } from '../support/listen.js';
import { startPgBouncer } from '../support/pgbouncer.js';
import { askingForPasswords, PostgresServer } from '../support/postgres-server.js';
import { ServiceProcess } from '../support/process.js';
import { eventually } from '../support/service.js';
import { makeFilterSlow, runningFilters, SLOW_FILTER } from '../support/slow-filter.js';
import { testDirectory } from '../support/test-database.js';
import { declareToken } from '../support/tokens.js';

let server: PostgresServer;
let keyFile: string;
let certificate: string;
let trusting: ServiceProcess;
let token: string;

/** An address of this machine that others could reach. */
const addresses = Object.values(networkInterfaces()).flatMap((each = []) => each);
const address = addresses.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '';

beforeAll(async () => {
  const account = accountOf('postgres');
  const directory = serverDirectory('tls', account);
  keyFile = join(directory, 'key.pem');
  certificate = join(directory, 'certificate.pem');
  const options = `-x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:${address}`;
  const files = ['-keyout', keyFile, '-out', certificate];
  execFileSync('openssl', ['req', ...options.split(' '), ...files], { stdio: 'ignore', cwd: '/', ...account });
  server = await PostgresServer.start({
    ...askingForPasswords(),
    ssl: 'on',
    ssl_cert_file: certificate,
    ssl_key_file: keyFile,
  });
  const declared = await declareToken();
  token = declared.token;
  trusting = await ServiceProcess.startReady({
    ...declared.variables,
    DATABASE_URL: `${verifiedUrl()}&sslrootcert=${encodeURIComponent(certificate)}`,
    DATABASE_STATEMENT_TIMEOUT: '60',
    FILTER_TIMEOUT: '60',
  });
});

const verifiedUrl = () => `${server.url.replace('127.0.0.1', 'localhost')}?sslmode=verify-full`;

it('cancels the filter of a client that disconnects, on an encrypted connection [filters-of-gone-clients]', async () => {
  const observer = await connectTo(server.url);
  await makeFilterSlow(observer, 20_000);
  const socket = await open(Number(new URL(trusting.origin).port));
  const target = `/v1/items?filter=${encodeURIComponent(SLOW_FILTER)}`;
  socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  await eventually(
    async () => (await trusting.metric('items_filters_running')) === 1 && (await runningFilters(observer)) === 1,
  );
  socket.destroy();
  // Long before its time limit.
  await eventually(async () => (await runningFilters(observer)) === 0, 10);
});

it('uses TLS and verifies the server if the URL requires it, and is not ready with a certificate that it cannot verify', async () => {
  expect(await server.query('SELECT FROM pg_stat_ssl WHERE ssl')).not.toEqual([]);
  const wary = await ServiceProcess.start({ DATABASE_URL: verifiedUrl() });
  await eventually(() => wary.has('database not ready'));
  const statuses = ['readyz', 'livez'].map(async (path) => (await fetch(`${wary.origin}/${path}`)).status);
  expect(await Promise.all(statuses)).toEqual([503, 200]);
  expect(await Promise.all([trusting.end('SIGTERM'), wary.end('SIGTERM')])).toEqual([0, 0]);
});

it('is unavailable while a certificate that the URL names cannot be read, and recovers', async () => {
  const copy = join(testDirectory(), 'mounted.pem');
  copyFileSync(certificate, copy);
  const { token: declared, variables } = await declareToken();
  const service = await ServiceProcess.startReady({
    ...variables,
    DATABASE_URL: `${verifiedUrl()}&sslrootcert=${encodeURIComponent(copy)}`,
  });
  const statuses = async () => {
    const client = service.client(declared);
    const responses = Array.from({ length: 30 }, () => [client.list(), client.create({ name: 'x' })]).flat();
    return new Set((await Promise.all(responses)).map(({ status }) => status));
  };
  expect(await statuses()).toEqual(new Set([200, 201]));
  rmSync(copy);
  await server.query('SELECT pg_terminate_backend(pid) FROM pg_stat_ssl WHERE ssl');
  await eventually(async () => (await fetch(`${service.origin}/readyz`)).status === 503);
  expect(await statuses()).toEqual(new Set([503]));
  expect(service.output.stdout).toMatch(/ENOENT: no such file or directory, open '[^']*mounted\.pem'/);
  copyFileSync(certificate, copy);
  await service.becomesReady();
  expect(await statuses()).toEqual(new Set([200, 201]));
  expect(await service.end('SIGTERM')).toBe(0);
});

it('doctor says that a certificate of the issuer is why its keys cannot be fetched', async () => {
  const issuer = createServer({ key: readFileSync(keyFile), cert: readFileSync(certificate) });
  const settings = {
    DATABASE_URL: server.url,
    AUTH_JWT_ISSUER: `https://localhost:${await listen(issuer)}`,
    AUTH_JWT_AUDIENCE: 'a',
  };
  expect((await examined(settings)).found['auth.issuer-keys']).toMatch(/fetch failed self-signed certificate/);
});

it('doctor says of each connection whether it is encrypted and the server verified, and warns unless it stays on this machine [doctor-warns-of-tls]', async () => {
  const trusted = `sslrootcert=${encodeURIComponent(certificate)}`;
  const at = (host: string, parameters = '') => `${server.url.replace('127.0.0.1', host)}?${parameters}`;
  const verified = at(address, `sslmode=verify-full&${trusted}`);
  const found = async (url: string, settings: NodeJS.ProcessEnv = {}) => {
    const report = await examined({ DATABASE_URL: url, ...settings });
    return [...report.names.filter((name) => name.includes('tls')).map((name) => report.found[name]), report.faults];
  };
  const warning = (check: string, text: string) =>
    expect.stringMatching(`^warn database\\.${check}: ${text} → Add sslmode=.*$`) as unknown;
  expect(await found(verified)).toEqual(['encrypted, certificate verified', '']);
  expect(await found(at(address))).toEqual(['not encrypted', warning('tls', 'not encrypted')]);
  // The certificate is the right one, but nothing requires it.
  for (const parameters of [`sslmode=no-verify&${trusted}`, 'ssl=no-verify', 'uselibpqcompat=true&sslmode=require']) {
    const text = 'encrypted, certificate not verified';
    expect(await found(at(address, parameters))).toEqual([text, warning('tls', text)]);
  }
  expect(await found(at('localhost'))).toEqual(['not encrypted, to this machine', '']);
  expect(await found(verified, { DATABASE_READ_URL: at(address) })).toEqual([
    'encrypted, certificate verified',
    'not encrypted',
    warning('tls.replica', 'not encrypted'),
  ]);
  const pooled = await startPgBouncer(server.url, 1, 'server_tls_sslmode = require');
  const { found: behind } = await examined({ DATABASE_URL: pooled, DATABASE_DIRECT_URL: verified });
  expect([behind['database.tls'], behind['database.tls.direct']]).toEqual([
    'not encrypted, to this machine; from a pooler or proxy to the server encrypted',
    'encrypted, certificate verified',
  ]);
});
