import { readFileSync } from 'node:fs';
import { Configuration } from './configuration.js';
import { ConfigurationError, readConfiguration } from './read-configuration.js';

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

  it.each(['0.0.0.0/0', '::/0', '10/8', '010.0.0.0/8', '0x7f.1/8', '10.0.0.0/33', 'fe80::1%eth0', '10.0.0.0/8,'])(
    'refuses %s as proxies',
    (TRUSTED_PROXIES) => {
      expect(() => readConfiguration({ TRUSTED_PROXIES })).toThrow('TRUSTED_PROXIES must be addresses or networks');
    },
  );

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

  it('names every variable at fault and shows no value', () => {
    const wrong = {
      PORT: '70000',
      DATABASE_URL: 'mysql://user:hunter2@db/items',
      DATABASE_POOL_SIZE: '0',
      DATABASE_CONNECTION_TIMEOUT: 'soon',
      DATABASE_STATEMENT_TIMEOUT: '-1',
      MIGRATE_ON_START: 'yes',
      RATE_LIMIT: '1e3',
      RATE_LIMIT_WINDOW: '60s',
      TOKEN_CACHE_TTL: '31',
      SHUTDOWN_DELAY: 'short',
      SHUTDOWN_TIMEOUT: 'NaN',
      DATABASE_DIRECT_URL: 'db',
      DATABASE_REPLICA_URLS: 'postgres://db/items,',
      REDIS_URL: 'http://cache',
      REDIS_KEY_PREFIX: 'items{1}',
      RATE_LIMIT_REPLICAS: '0',
      IDEMPOTENCY_TTL: '0',
      KEEP_ALIVE_TIMEOUT: '0',
      METRICS_PORT: '-1',
      LOG_LEVEL: 'loud',
      LOG_FORMAT: 'xml',
    };
    const read = () => readConfiguration(wrong);
    expect(read).toThrow(ConfigurationError);
    try {
      read();
    } catch (error) {
      const { message } = error as Error;
      for (const name of Object.keys(wrong)) {
        expect(message).toContain(`\n  ${name} must `);
      }
      expect(message).not.toMatch(/70000|mysql|hunter2|soon|-1|yes|1e3|60s|31|NaN|loud|xml|short,|http:/);
    }
  });

  it('is listed in .env.example, each variable with its default', () => {
    const lines = readFileSync('.env.example', 'utf8').matchAll(/^# ?([A-Z_]+)=(.*)$/gm);
    const listed = Object.fromEntries([...lines].map(([, name, value]) => [name, value]));
    const defaults = Object.entries(new Configuration()).map(([name, value]) => [name, String(value ?? '')]);
    expect(listed).toEqual(Object.fromEntries(defaults));
  });
});
