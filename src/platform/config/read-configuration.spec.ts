import { readFileSync } from 'node:fs';
import { Configuration } from './configuration.js';
import { OperatorError } from './operator-error.js';
import { readConfiguration } from './read-configuration.js';

describe('the configuration', () => {
  it('is complete without any variable', () => {
    expect(readConfiguration({})).toEqual(new Configuration());
  });

  it('takes an empty variable as unset, and ignores what it does not know', () => {
    expect(readConfiguration({ PORT: '', DATABASE_URL: ' ', HOME: '/root' })).toEqual(new Configuration());
  });

  it('reads every variable as its type', () => {
    const given = {
      PORT: '8080',
      DATABASE_URL: 'postgresql://user:secret@db/items?sslmode=verify-full',
      DATABASE_POOL_SIZE: '20',
      DATABASE_CONNECTION_TIMEOUT: '0.5',
      MIGRATE_ON_START: 'false',
      DATABASE_REPLICA_URLS: 'postgres://one/items, postgres://two/items',
      LOG_FORMAT: 'json',
    };
    expect(readConfiguration(given)).toMatchObject({
      ...given,
      MIGRATE_ON_START: false,
      PORT: 8080,
      DATABASE_POOL_SIZE: 20,
      DATABASE_CONNECTION_TIMEOUT: 0.5,
      DATABASE_REPLICA_URLS: ['postgres://one/items', 'postgres://two/items'],
    });
  });

  it('takes addresses and networks of proxies', () => {
    const TRUSTED_PROXIES = '10.0.0.0/8, fd00::/8,::1,192.0.2.1,::ffff:10.0.0.0/104';
    expect(readConfiguration({ TRUSTED_PROXIES }).TRUSTED_PROXIES).toEqual(TRUSTED_PROXIES.split(/, ?/));
  });

  it.each([
    ['DATABASE_DIRECT_URL needs DATABASE_URL', { DATABASE_DIRECT_URL: 'postgres://db/items' }],
    ['DATABASE_REPLICA_URLS needs DATABASE_URL', { DATABASE_REPLICA_URLS: 'postgres://db/items' }],
    ['SHUTDOWN_DELAY must be shorter than', { SHUTDOWN_DELAY: '9', SHUTDOWN_TIMEOUT: '10' }],
  ])('knows what goes together: %s', (message, environment) => {
    expect(() => readConfiguration(environment)).toThrow(message);
  });

  it.each([
    ['TRUSTED_PROXIES', '0.0.0.0/0 ::/0 10/8 010.0.0.0/8 0x7f.1/8 10.0.0.0/33 fe80::1%eth0 10.0.0.0/8,'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318 grpc://collector unix:/run/x http://x?key=1 http://x#x http://x? http://'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.01 -0.1 5% 1e-3 1e3'],
    ['OTEL_TRACES_SAMPLER', 'loud'],
    ['PORT', '70000 -1 http 1e3 010'],
    ['DATABASE_URL', 'mysql://user:hunter2@db/items postgres://db/ postgres://us%er@db/items db'],
    ['DATABASE_REPLICA_URLS', 'postgres://db/items, mysql://db/items'],
    ['DATABASE_STATEMENT_TIMEOUT', 'soon -1 0 4000 NaN 60s'],
    ['MIGRATE_ON_START', 'yes TRUE 1'],
    ['REDIS_URL', 'http://cache redis://a,b'],
    ['REDIS_KEY_PREFIX', 'items{1}'],
    ['AUTH_JWT_ISSUER', 'http://issuer.example https://user:hunter2@issuer.example https://issuer.example#x issuer.example'],
    ['LOG_LEVEL', 'loud'],
  ])('refuses for %s %s, and does not repeat it', (name, values) => {
    for (const value of values.split(' ')) {
      const read = () => readConfiguration({ [name]: value, LOG_FORMAT: 'xml' });
      expect(read).toThrow(OperatorError);
      expect(read).toThrow(new RegExp(`^The configuration is not valid:\n  ${name} must be .*\n  LOG_FORMAT must .*\nSee`, 's'));
      expect(read).not.toThrow(/hunter2|mysql|loud|soon|yes|xml|70000|60s|http:\/\/cache/);
    }
  });

  it.each(['0', '1', '1.0', '.5', '0.05'])('takes %s as a ratio', (OTEL_TRACES_SAMPLER_ARG) => {
    const { OTEL_TRACES_SAMPLER_ARG: ratio } = readConfiguration({ OTEL_TRACES_SAMPLER_ARG });
    expect(ratio).toBe(Number(OTEL_TRACES_SAMPLER_ARG));
  });

  const defaults = Object.fromEntries(Object.entries(new Configuration()).map(([name, value]) => [name, String(value ?? '')]));

  it('is listed in .env.example, each variable with its default', () => {
    const lines = readFileSync('.env.example', 'utf8').matchAll(/^# ?([A-Z_]+)=(.*)$/gm);
    const listed = Object.fromEntries([...lines].map(([, name, value]) => [name, value]));
    expect(listed).toEqual(defaults);
  });

  it('is explained in the handbook, each variable with its default', () => {
    const rows = readFileSync('docs/operations.md', 'utf8').matchAll(/^\| `([A-Z_]+)` +\| (?:`(.*?)`)? +\|/gm);
    const explained = Object.fromEntries([...rows].map(([, name, value]) => [name, value ?? '']));
    expect(explained).toEqual(defaults);
  });
});
