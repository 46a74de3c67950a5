import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { accountOf, serverDirectory } from '../support/child.js';
import { PostgresServer } from '../support/postgres-server.js';
import { ServiceProcess } from '../support/process.js';
import { eventually } from '../support/service.js';

it('uses TLS and verifies the server if the URL requires it, and is not ready with a certificate that it cannot verify', async () => {
  const account = accountOf('postgres');
  const directory = serverDirectory('tls', account);
  const [certificate, key] = [join(directory, 'certificate.pem'), join(directory, 'key.pem')];
  const options = '-x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost';
  const files = ['-keyout', key, '-out', certificate];
  execFileSync('openssl', ['req', ...options.split(' '), ...files], { stdio: 'ignore', cwd: '/', ...account });
  const server = await PostgresServer.start({ ssl: 'on', ssl_cert_file: certificate, ssl_key_file: key });

  const DATABASE_URL = `${server.url.replace('127.0.0.1', 'localhost')}?sslmode=verify-full`;
  const trusting = await ServiceProcess.startReady({
    DATABASE_URL: `${DATABASE_URL}&sslrootcert=${encodeURIComponent(certificate)}`,
  });
  expect(await server.query('SELECT FROM pg_stat_ssl WHERE ssl')).not.toEqual([]);
  const wary = await ServiceProcess.start({ DATABASE_URL });
  await eventually(() => wary.has('database not ready'));
  const statuses = ['readyz', 'livez'].map(async (path) => (await fetch(`${wary.origin}/${path}`)).status);
  expect(await Promise.all(statuses)).toEqual([503, 200]);
  expect(await Promise.all([trusting.end('SIGTERM'), wary.end('SIGTERM')])).toEqual([0, 0]);
});
