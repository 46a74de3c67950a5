import { inspect } from 'node:util';
import { Logger, Module } from '@nestjs/common';
import { ConfigModule, ConfigService } from '@nestjs/config';
import { Configuration } from './configuration.js';
import { misspelledVariables, platformVariables } from './read-configuration.js';

/** Makes {@link Configuration} and `ConfigService` injectable everywhere. */
@Module({
  imports: [ConfigModule.forRoot({ isGlobal: true, ignoreEnvFile: true, validatePredefined: false, load: [platformVariables] })],
})
export class ConfigurationModule {
  constructor(configuration: Configuration, service: ConfigService) {
    const print = { value: () => ({}) };
    Object.defineProperties(service, { toJSON: print, [inspect.custom]: print });
    const misspelled = misspelledVariables(configuration);
    if (misspelled.length > 0) {
      new Logger('Configuration').warn(`Unknown variables: ${misspelled.join(', ')}`);
    }
  }
}
