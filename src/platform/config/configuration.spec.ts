import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { Injectable, Module } from '@nestjs/common';
import { ConfigModule, ConfigService } from '@nestjs/config';
import { Test } from '@nestjs/testing';
import { IsEmail } from 'class-validator';
import { Configuration } from './configuration.js';
import { OperatorError } from '../errors/operator-error.js';
import {
  ConfigurationModule,
  misspelledVariables,
  readConfiguration,
  variables,
  withConfiguration,
} from './read-configuration.js';
import { Seconds } from './variables.decorators.js';

class CatsVariables {
  @IsEmail() readonly CATS_KEEPER: string = 'keeper@example.org';
  @Seconds(1, 60) readonly CATS_NAP: number = 10;
  readonly CATS_KEY: string = '';
}

@Injectable()
class Cats {
  constructor(
    readonly own: CatsVariables,
    readonly platform: Configuration,
    readonly service: ConfigService,
  ) {}
}

@Module({ imports: [ConfigModule.forFeature(variables(CatsVariables))], providers: [Cats] })
class CatsModule {}

async function catsWith(environment: NodeJS.ProcessEnv): Promise<Cats> {
  const application = Test.createTestingModule({ imports: [ConfigurationModule, CatsModule] });
  return withConfiguration(readConfiguration(environment), async () => (await application.compile()).get(Cats));
}

const withParameter = (parameter: string) => `postgres://db/items?${parameter}`;

describe('the configuration', () => {
  it.each([{}, { PORT: '', DATABASE_URL: ' ', HOME: '/root' }])(
    'has all defaults with the environment %j',
    (environment) => {
      expect(readConfiguration(environment)).toEqual(new Configuration());
    },
  );

  it('reads every variable as its type', () => {
    const texts = { DATABASE_URL: 'postgresql://user:secret@db/items?sslmode=verify-full', LOG_FORMAT: 'json' };
    const TRUSTED_PROXIES = '10.0.0.0/8, fd00::/8,::1,192.0.2.1,::ffff:10.0.0.0/104';
    const front = { HOST: 'fe80::1%eth0', PUBLIC_URL: 'https://api.example.com/catalog' };
    const CORS_ORIGINS = 'https://a.example, http://localhost:5173';
    const numbers = { PORT: 8080, DATABASE_CONNECTION_TIMEOUT: 0.5, OTEL_TRACES_SAMPLER_ARG: 0.05 };
    const given = {
      ...texts,
      ...front,
      CORS_ORIGINS,
      TRUSTED_PROXIES,
      MIGRATE_ON_START: 'false',
      API_DOCS: 'false',
      PORT: '8080',
      DATABASE_CONNECTION_TIMEOUT: '0.5',
    };
    expect(readConfiguration({ ...given, OTEL_TRACES_SAMPLER_ARG: '.05' })).toMatchObject({
      ...texts,
      ...numbers,
      ...front,
      MIGRATE_ON_START: false,
      API_DOCS: false,
      CORS_ORIGINS: ['https://a.example', 'http://localhost:5173'],
      TRUSTED_PROXIES: TRUSTED_PROXIES.split(/, ?/),
    });
  });

  it.each([
    ...['disable', 'allow', 'prefer', 'require', 'no-verify', 'verify-ca', 'verify-full'].map((mode) => `sslmode=${mode}`),
    'sslrootcert=/ca.pem&sslmode=verify-full&sslcert=x&application_name=SSLMODE',
    'uselibpqcompat=true&sslmode=require',
    'ssl=true',
    'ssl=no-verify',
    'sslnegotiation=direct',
    'sslcompression=0',
    'options=-c%20search_path%3Dx',
  ])('leaves the parameters %s to pg', (parameters) => {
    const DATABASE_URL = withParameter(parameters);
    expect(readConfiguration({ DATABASE_URL })).toMatchObject({ DATABASE_URL });
  });

  it.each([
    ['DATABASE_DIRECT_URL needs DATABASE_URL', { DATABASE_DIRECT_URL: 'postgres://db/items' }],
    ['DATABASE_READ_URL needs DATABASE_URL', { DATABASE_READ_URL: 'postgres://db/items' }],
    ['DATABASE_REPLICA_URLS must be replaced by DATABASE_READ_URL', { DATABASE_REPLICA_URLS: 'postgres://db/items' }],
    ['RATE_LIMIT_REPLICAS must not exceed RATE_LIMIT', { RATE_LIMIT: '2', RATE_LIMIT_REPLICAS: '3' }],
    ['SHUTDOWN_DELAY must be shorter than', { SHUTDOWN_DELAY: '9', SHUTDOWN_TIMEOUT: '10' }],
  ])('knows what goes together: %s', (message, environment) => {
    expect(() => readConfiguration(environment)).toThrow(message);
  });

  it.each(['"50"', "'50'", '50\r', ' 50', '\uFEFF50'])('names quotes and white space around %j', (RATE_LIMIT) => {
    expect(() => readConfiguration({ RATE_LIMIT })).toThrow(
      'RATE_LIMIT must be an integer from 1 to 1000000, in decimal digits (the value begins or ends with',
    );
    expect(() => readConfiguration({ RATE_LIMIT: '5x' })).toThrow(/, in decimal digits$/m);
  });

  it.each(['TRUE', 'True', 'true'])('takes %s for true, and False for false', (OTEL_SDK_DISABLED) => {
    const settings = { OTEL_SDK_DISABLED: true, API_DOCS: false };
    expect(readConfiguration({ OTEL_SDK_DISABLED, API_DOCS: 'False' })).toMatchObject(settings);
  });

  it('does not compare with a value that is not valid itself', () => {
    expect(() => readConfiguration({ RATE_LIMIT: '-1' })).toThrow(/^(?!.*RATE_LIMIT_REPLICAS)(?=.*RATE_LIMIT )/s);
  });

  it.each([
    ['TRUSTED_PROXIES', '0.0.0.0/0 ::/0 10/8 010.0.0.0/8 0x7f.1/8 10.0.0.0/33 fe80::1%eth0 10.0.0.0/8,'],
    [
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      'collector:4318 grpc://collector unix:/run/x http://x?key=1 http://x#x http://x? http://',
    ],
    ['OTEL_TRACES_SAMPLER_ARG', '1.01 -0.1 5% 1e-3 1e3'],
    ['OTEL_TRACES_SAMPLER', 'loud'],
    ['PORT', '70000 -1 http 1e3 010'],
    ['DATABASE_URL', 'mysql://user:hunter2@db/items postgres://db/ postgres://us%er@db/items db'],
    // A password with a slash.
    ['DATABASE_URL', 'postgres://user:12/hunter2@db/items postgres://user:x@hunter2/y@db postgres://user@db/items/hunter2'],
    ['DATABASE_URL', ['SSLMODE=require', 'sslMode=require', 'ssl-mode=require', 'sslmode'].map(withParameter).join(' ')],
    ['DATABASE_URL', ['sslmode=requre', 'sslmode=', 'sslmode=REQUIRE', 'a=b&ssl_mode=x'].map(withParameter).join(' ')],
    ['DATABASE_READ_URL', ['SSL=true', 'ssl=false', 'ssl=', 'sslmode=require&SSLMODE=x'].map(withParameter).join(' ')],
    [
      'DATABASE_URL',
      ['sslmod=require', 'sslmodes=require', 'sslRootCert=/ca.pem', 'sslcrl=/crl.pem', 'sslrootcert=system']
        .map(withParameter)
        .join(' '),
    ],
    ['DATABASE_STATEMENT_TIMEOUT', 'soon -1 0 4000 NaN 60s'],
    ['TOKEN_CACHE_TTL', '31 30.1 0'],
    ['RATE_LIMIT', '0 1e3 1000001'],
    ['RATE_LIMIT_WINDOW', '0 60s 0.5'],
    ['DATABASE_POOL_SIZE', '0 1001'],
    ['IDEMPOTENCY_TTL', '0 2592001'],
    ['KEEP_ALIVE_TIMEOUT', '0 -1'],
    ['MIGRATE_ON_START', 'yes truth 1'],
    ['REDIS_URL', 'http://cache redis://a,b'],
    ['REDIS_KEY_PREFIX', 'cats{1}'],
    ['AUTH_JWT_ISSUER', 'http://issuer.example https://user:hunter2@issuer.example https://issuer.example#x issuer.example'],
    ['AUTH_JWT_DEFAULT_SCOPES', 'items:read, a"b items:read;items:wri\\te ,'],
    ['CATS_NAP', 'long'],
    ['HOST', 'localhost [::1] 127.0.0.1:3000 127.1 0x7f.0.0.1 *'],
    [
      'CORS_ORIGINS',
      '* null https://a.example/ javascript:alert(1) https://*.example https://A.example https://a.example:443',
    ],
    ['CORS_ORIGINS', 'https://a.example,* https://a.example, https://a.example/path a.example https://hunter2@a.example'],
    [
      'PUBLIC_URL',
      '/catalog https://a.example/ https://a.example//docs https://a.example/x?y https://u:hunter2@a.example/x',
    ],
    ['API_DOCS', 'no 0 falsey'],
  ])(
    'refuses for %s %s, names the error with others, and does not repeat the value [sslmode-checked] [start-duplicates]',
    (name, values) => {
      for (const value of values.split(' ')) {
        const read = () => readConfiguration({ LOG_LEVEL: 'xml', [name]: value, CATS_KEEPER: 'xml' });
        expect(read).toThrow(OperatorError);
        for (const line of [`${name} must be`, 'LOG_LEVEL must be', 'CATS_KEEPER must be an email'])
          expect(read).toThrow(`\n  ${line}`);
        expect(read).not.toThrow(/hunter2|mysql|loud|soon|yes|xml|70000|60s|http:\/\/cache/);
      }
    },
  );

  it.each([
    ['.env.example', /^# ?([A-Z_]+)=(.*)$/gm],
    ['docs/configuration.md', /^\| `([A-Z_]+)` +\| (?:`(.*?)`)? +\|/gm],
  ])('is explained in %s, each variable with its default', (file, row) => {
    const defaults = Object.entries(new Configuration()).map(([name, value]) => [name, String(value ?? '')]);
    const rows = [...readFileSync(file, 'utf8').matchAll(row)];
    expect(Object.fromEntries(rows.map(([, name, value]) => [name, value ?? '']))).toEqual(Object.fromEntries(defaults));
  });

  it('finds names that differ little from a variable, and no others [misspelled-settings]', () => {
    const misspelled = {
      RATE_LIMITT: '1',
      RATELIMIT: '1',
      DATABASE_URI: 'canary',
      log_level: '',
      CATS_NAPS: '1',
      PORTS: '1',
    };
    const others = {
      RATE_LIMIT: '1',
      CATS_NAP: '1',
      HOST: '',
      HOME: '',
      NODE_ENV: '',
      OTEL_TRACES_EXPORTER: '',
      POD_IP: '',
    };
    const found = misspelledVariables(readConfiguration({ ...misspelled, ...others }));
    expect(found.map((text) => text.split(' ')[0])).toEqual(Object.keys(misspelled));
  });
});

it('a module gets variables of its own, from the same environment as the platform, and its secrets are hidden [variables-hidden]', async () => {
  const [one, two] = await Promise.all([
    catsWith({ CATS_NAP: '2.5', RATE_LIMIT: '7', CATS_KEY: 'canary' }),
    catsWith({ CATS_KEEPER: 'a@example.org', DATABASE_URL: 'postgres://:canary@host/items' }),
  ]);
  expect([one.own.CATS_NAP, one.own.CATS_KEEPER, one.platform.RATE_LIMIT]).toEqual([2.5, 'keeper@example.org', 7]);
  expect([two.own.CATS_NAP, two.own.CATS_KEEPER, two.platform.RATE_LIMIT]).toEqual([10, 'a@example.org', 100]);
  expect(['RATE_LIMIT', 'CATS_NAP', 'CATS_KEY'].map((name) => one.service.get<unknown>(name))).toEqual([7, 2.5, 'canary']);
  expect(inspect([one, two], { showHidden: true, depth: 9 }) + JSON.stringify([one, two])).not.toContain('canary');
});

it('a module may have variables without rules', () => {
  class DogsVariables {
    readonly DOGS_NAME: string = 'Rex';
  }
  const read = variables(DogsVariables);
  expect(withConfiguration(readConfiguration({ DOGS_NAME: 'Bello' }), read)).toMatchObject({ DOGS_NAME: 'Bello' });
});
