import { Injectable, Module, type OnModuleInit, type Type } from '@nestjs/common';
import { getRepositoryToken, InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { startApp } from '../src/bootstrap.js';
import { readConfiguration } from '../src/platform/config/read-configuration.js';
import { failureText } from '../src/platform/errors/operator-error.js';
import { Database } from '../src/platform/index.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { Currency, SeedsModule } from './fixtures/seeds/seeds.module.js';
import { serverDefaults, type Service, startService } from './support/service.js';
import { createEmbedded, createTestDatabase } from './support/test-database.js';

@Module({ imports: [PlatformModule, SeedsModule] })
class AppModule {}

const currenciesOf = ({ app }: Service) => app.get<Repository<Currency>>(getRepositoryToken(Currency));

it('runs after the migrations and before the service is ready, at each start [seeding-before-ready]', async () => {
  const database = await createTestDatabase();
  for (const added of [0, 1]) {
    const service = await startService({}, database, AppModule);
    expect(await currenciesOf(service).count()).toBe(2 + added);
    await currenciesOf(service).insert({ code: `X${added}`, digits: 0 });
    expect(() => service.app.get(Database).onReady(() => Promise.resolve())).toThrow('is called after the start');
    await service.stop();
  }
  await database.drop();
});

/** What a start with this provider says. */
async function failureOf(provider: Type): Promise<string> {
  @Module({ imports: [PlatformModule, SeedsModule, TypeOrmModule.forFeature([Currency])], providers: [provider] })
  class WrongModule {}

  const { environment } = await createEmbedded();
  const started = startApp(readConfiguration({ ...serverDefaults, LOG_LEVEL: 'silent', ...environment }), WrongModule);
  const error: unknown = await started.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  return failureText(error);
}

@Injectable()
class FailingSeed {
  constructor(database: Database, @InjectRepository(Currency) currencies: Repository<Currency>) {
    database.onReady(async () => {
      // Once too often, whichever callback comes first.
      for (const digits of [2, 2]) await currencies.insert({ code: 'EUR', digits });
    });
  }
}

it('ends the start with the cause if it fails [seeding-failure]', async () => {
  const text = await failureOf(FailingSeed);
  expect(text).toMatch(/A callback of database\.onReady\(\) failed/);
  expect(text).toMatch(/\[cause\].*duplicate key value violates unique constraint "currencies_pkey"/s);
});

@Injectable()
class EarlySeed implements OnModuleInit {
  constructor(@InjectRepository(Currency) readonly currencies: Repository<Currency>) {}

  async onModuleInit(): Promise<void> {
    await this.currencies.insert({ code: 'EUR', digits: 2 });
  }
}

@Injectable()
class EarlyStatement extends EarlySeed {
  override async onModuleInit(): Promise<void> {
    await this.currencies.query("INSERT INTO currencies VALUES ('EUR', 2)");
  }
}

it.each([EarlySeed, EarlyStatement])(
  'names the hook in the error of a statement that is too early: %p [early-statement]',
  async (provider) => {
    expect(await failureOf(provider)).toMatch(/connects after the modules are initialized: .* database\.onReady\(\)/);
  },
);
