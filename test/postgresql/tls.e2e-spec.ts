import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { ServiceProcess } from '../support/process.js';
import { eventually } from '../support/service.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase, testDirectory } from '../support/test-database.js';

let database: TestDatabase;
let certificate: string;
let url: URL;
let encryptedConnections = 0;
const server = createServer((client) => void accept(client));

beforeAll(async () => {
  database = await createTestDatabase();
  const directory = await mkdtemp(join(testDirectory(), 'tls-'));
  certificate = join(directory, 'certificate.pem');
  const options = '-x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost';
  const files = ['-keyout', join(directory, 'key.pem'), '-out', certificate];
  execFileSync('openssl', ['req', ...options.split(' '), ...files], { stdio: 'ignore' });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  url = Object.assign(new URL(databaseUrlOf(database)), { hostname: 'localhost', port });
});

afterAll(async () => {
  server.close();
  await database.drop();
});

/** Terminates TLS in front of a PostgreSQL without it: responds to SSLRequest (manual, 55.2.10) and passes the rest on. */
async function accept(client: Socket): Promise<void> {
  client.on('error', () => undefined);
  const [request] = (await once(client, 'data')) as [Buffer];
  if (request.readInt32BE(4) !== 80_877_103) {
    client.destroy();
    return;
  }
  client.write('S');
  const [key, cert] = ['key', 'certificate'].map((name) => readFileSync(certificate.replace('certificate', name)));
  const secure = new TLSSocket(client, { isServer: true, key, cert });
  secure.on('error', () => undefined);
  await once(secure, 'secure');
  encryptedConnections += 1;
  const { port, hostname } = new URL(databaseUrlOf(database));
  const plain = connect(Number(port || 5432), hostname);
  plain.on('error', () => undefined);
  secure.pipe(plain).pipe(secure);
  secure.on('close', () => plain.destroy());
}

function start(parameters: string): Promise<ServiceProcess> {
  return ServiceProcess.start({ DATABASE_URL: `${url.href}?${parameters}` });
}

it('uses TLS and verifies the server if the URL requires it', async () => {
  const service = await start(`sslmode=verify-full&sslrootcert=${encodeURIComponent(certificate)}`);
  await service.becomesReady();
  expect(encryptedConnections).toBeGreaterThan(0);
  expect(await service.end('SIGTERM')).toBe(0);
});

it('stays up, not ready, instead of trusting a certificate that it cannot verify', async () => {
  const service = await start('sslmode=verify-full');
  await eventually(() => service.log.some(({ msg }) => msg === 'database not ready'));
  expect((await fetch(`${service.origin}/readyz`)).status).toBe(503);
  expect((await fetch(`${service.origin}/livez`)).status).toBe(200);
  expect(await service.end('SIGTERM')).toBe(0);
});
