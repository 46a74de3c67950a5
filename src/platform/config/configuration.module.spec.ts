import { inspect } from 'node:util';
import { Injectable, Module } from '@nestjs/common';
import { ConfigModule, ConfigService } from '@nestjs/config';
import { Test } from '@nestjs/testing';
import { IsEmail } from 'class-validator';
import { Configuration } from './configuration.js';
import { ConfigurationModule } from './configuration.module.js';
import { misspelledVariables, readConfiguration, variables, withConfiguration } from './read-configuration.js';
import { Secret, Seconds } from './variables.decorators.js';

class CatsVariables {
  @IsEmail()
  readonly CATS_KEEPER: string = 'keeper@example.org';

  @Seconds(1, 60)
  readonly CATS_NAP: number = 10;

  @Secret()
  readonly CATS_KEY: string = '';
}

@Injectable()
class Cats {
  readonly atStart: unknown[];

  constructor(
    readonly own: CatsVariables,
    readonly platform: Configuration,
    readonly service: ConfigService,
  ) {
    this.atStart = ['RATE_LIMIT', 'CATS_NAP', 'CATS_KEEPER'].map((name) => service.get<unknown>(name));
  }
}

@Module({ imports: [ConfigModule.forFeature(variables(CatsVariables))], providers: [Cats] })
class CatsModule {}

@Module({ imports: [ConfigModule.forFeature(variables(CatsVariables))] })
class DogsModule {}

const application = () => Test.createTestingModule({ imports: [ConfigurationModule, CatsModule, DogsModule] });

async function catsWith(environment: NodeJS.ProcessEnv): Promise<Cats> {
  return withConfiguration(readConfiguration(environment), async () => (await application().compile()).get(Cats));
}

describe('a module with variables of its own', () => {
  it('gets them typed, from the same environment as the platform', async () => {
    const [one, two] = await Promise.all([
      catsWith({ CATS_NAP: '2.5', RATE_LIMIT: '7' }),
      catsWith({ CATS_KEEPER: 'a@example.org' }),
    ]);
    expect([one.own.CATS_NAP, one.own.CATS_KEEPER, one.platform.RATE_LIMIT]).toEqual([2.5, 'keeper@example.org', 7]);
    expect([two.own.CATS_NAP, two.own.CATS_KEEPER, two.platform.RATE_LIMIT]).toEqual([10, 'a@example.org', 100]);
    expect([one.atStart, two.atStart]).toEqual([
      [7, 2.5, 'keeper@example.org'],
      [100, 10, 'a@example.org'],
    ]);
  });

  it('has its errors in one list with those of the platform', () => {
    expect(() => readConfiguration({ CATS_KEEPER: 'Tom', CATS_NAP: 'long', RATE_LIMIT: '0' })).toThrow(
      [
        'The configuration is not valid:',
        '  RATE_LIMIT must be a whole number from 1 to 1000000, in plain digits',
        '  CATS_KEEPER must be an email',
        '  CATS_NAP must be a number of seconds from 1 to 60',
      ].join('\n'),
    );
  });

  it('that is loaded late has its errors where it is made', () => {
    const configuration = readConfiguration({ LATE: 'soon' });
    class LateVariables {
      @Seconds(1, 60)
      readonly LATE: number = 1;
    }
    const late = variables(LateVariables);
    expect(() => withConfiguration(configuration, late)).toThrow('LATE must be a number of seconds');
  });

  it('has its secrets hidden', async () => {
    const cats = await catsWith({ CATS_KEY: 'canary', DATABASE_URL: 'postgres://:canary@host/items' });
    expect(cats.service.get('CATS_KEY')).toBe('canary');
    expect(inspect(cats, { showHidden: true, depth: 9 }) + JSON.stringify(cats)).not.toContain('canary');
  });
});

it('without a given configuration, the environment is read, and a test may override it', async () => {
  process.env['CATS_NAP'] = '3';
  const environment = await application().compile();
  expect([environment.get(Cats).own.CATS_NAP, environment.get(Configuration)]).toEqual([3, expect.any(Configuration)]);
  delete process.env['CATS_NAP'];

  const override = Object.assign(new Configuration(), { RATE_LIMIT: 5 });
  const overridden = await application().overrideProvider(Configuration).useValue(override).compile();
  const { platform, atStart } = overridden.get(Cats);
  expect([platform, atStart[0]]).toEqual([override, 5]);
});

it('names that differ little from a variable are found, and no others', () => {
  const misspelled = { RATE_LIMITT: '1', RATELIMIT: '1', DATABASE_URI: 'canary', log_level: '', CATS_NAPS: '1', PORTS: '1' };
  const others = { RATE_LIMIT: '1', CATS_NAP: '1', HOST: '', HOME: '', NODE_ENV: '', OTEL_TRACES_EXPORTER: '', POD_IP: '' };
  const found = misspelledVariables(readConfiguration({ ...misspelled, ...others }));
  expect(found.map((text) => text.split(' ')[0])).toEqual(Object.keys(misspelled));
  expect(found.join()).not.toContain('canary');
});
