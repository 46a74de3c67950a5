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

  it.each([
    'collector:4318',
    'grpc://collector:4317',
    'unix:/run/collector',
    'http://collector?key=1',
    'http://collector#x',
    'http://collector?',
    'http://',
  ])('refuses %s as a collector', (OTEL_EXPORTER_OTLP_ENDPOINT) => {
    expect(() => readConfiguration({ OTEL_EXPORTER_OTLP_ENDPOINT })).toThrow('OTEL_EXPORTER_OTLP_ENDPOINT must be a URL');
  });

  it.each(['api-key', 'a b=c', 'key=%0D%0AHost:%20x', 'key=%C4%80', 'key=%'])(
    'refuses %s as headers',
    (OTEL_EXPORTER_OTLP_HEADERS) => {
      expect(() => readConfiguration({ OTEL_EXPORTER_OTLP_HEADERS })).toThrow('OTEL_EXPORTER_OTLP_HEADERS must be');
    },
  );

  it('takes what OpenTelemetry reads elsewhere', () => {
    const given = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://user:secret@collector.example:4318/tenant/',
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a1,authorization=Basic%20YTpi',
      OTEL_SERVICE_NAME: 'shop items',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=production,k8s.pod.name=items-1',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    };
    const read = (OTEL_TRACES_SAMPLER_ARG: string) => readConfiguration({ ...given, OTEL_TRACES_SAMPLER_ARG });
    expect(read('0.05')).toMatchObject({ ...given, OTEL_TRACES_SAMPLER_ARG: 0.05 });
    expect(['0', '1', '1.0', '.5'].map((ratio) => read(ratio).OTEL_TRACES_SAMPLER_ARG)).toEqual([0, 1, 1, 0.5]);
    for (const ratio of ['1.01', '-0.1', '5%', '1e-3']) expect(() => read(ratio)).toThrow('OTEL_TRACES_SAMPLER_ARG must be');
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
      OTEL_EXPORTER_OTLP_ENDPOINT: 'tempo:4318',
      OTEL_EXPORTER_OTLP_HEADERS: 'hunter2',
      OTEL_RESOURCE_ATTRIBUTES: 'soon',
      OTEL_TRACES_SAMPLER: 'loud',
      OTEL_TRACES_SAMPLER_ARG: '1e3',
      OTEL_SDK_DISABLED: 'yes',
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
      expect(message).not.toMatch(/70000|mysql|hunter2|soon|-1|yes|1e3|60s|\b31\b|NaN|loud|xml|short,|http:|tempo/);
    }
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
