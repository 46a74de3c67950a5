import { AsyncLocalStorage } from 'node:async_hooks';
import { existsSync } from 'node:fs';
import { loadEnvFile } from 'node:process';
import { inspect } from 'node:util';
import { Logger, Module, type Type } from '@nestjs/common';
import { type ConfigFactory, ConfigModule, ConfigService } from '@nestjs/config';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { closestMatch } from 'leven';
import { faultsOf } from '../validation/input-faults.js';
import { Configuration } from './configuration.js';
import { OperatorError } from './operator-error.js';

const classes = new Set<Type<object>>();
const environments = new WeakMap<Configuration, NodeJS.ProcessEnv>();
const scope = new AsyncLocalStorage<Configuration>();

const nothing = { value: () => ({}) };

/**
 * Variables for `ConfigModule.forFeature`, which makes the class injectable and its values available in `ConfigService`. They are
 * validated together with those of the platform, before the application is created.
 *
 * @param type - each property is a variable, with its name, validation decorators and default
 */
export function variables<T extends object>(type: Type<T>): ConfigFactory<T> {
  classes.add(type);
  preventPrinting(type.prototype as object);
  const read = (): T => {
    const configuration = scope.getStore() ?? readConfiguration(loadEnvironment());
    return configuration instanceof type ? configuration : instanceOf(type, environments.get(configuration) ?? {});
  };
  // The injection token, as `registerAs` sets it.
  return Object.assign(read, { KEY: type });
}

/**
 * Reads and validates the configuration. An empty variable counts as unset.
 *
 * @param environment - usually `process.env`
 * @throws OperatorError with all errors, including those of the features' variables, without their values
 */
export function readConfiguration(environment: NodeJS.ProcessEnv): Configuration {
  const instances = [...classes].map((type) => instanceOf(type, environment));
  const errors = instances.flatMap((instance) => validateSync(instance, { forbidUnknownValues: false }));
  const lines = new Set(faultsOf(errors).map(({ path, detail }) => `  ${path.join('.')} ${detail}`));
  if (lines.size > 0) {
    throw new OperatorError(['The configuration is not valid:', ...lines, 'See .env.example.'].join('\n'));
  }
  const configuration = instanceOf(Configuration, environment);
  environments.set(configuration, environment);
  return configuration;
}

function instanceOf<T extends object>(type: Type<T>, environment: NodeJS.ProcessEnv): T {
  const given = Object.keys(new type()).filter((name) => environment[name]?.trim());
  return plainToInstance(type, Object.fromEntries(given.map((name) => [name, environment[name]])));
}

/** Runs a function with this configuration: modules that it creates do not read the environment. */
export function withConfiguration<T>(configuration: Configuration, run: () => T): T {
  return scope.run(configuration, run);
}

/** The environment of the process, with variables of a file `.env` in the working directory. */
export function loadEnvironment(): NodeJS.ProcessEnv {
  if (existsSync('.env')) {
    try {
      loadEnvFile('.env');
    } catch (cause) {
      throw new OperatorError('The file .env cannot be read: make it a text file that this user can read.', { cause });
    }
  }
  return process.env;
}

/** Names in the environment that are similar to the name of a variable, each with that name. */
export function misspelledVariables(configuration: Configuration): string[] {
  const known = [...classes].flatMap((type) => Object.keys(new type()));
  return Object.keys(environments.get(configuration) ?? {}).flatMap((name) => {
    const meant = closestMatch(name.toUpperCase(), known, { maxDistance: name.length < 6 ? 1 : 2 });
    return meant === undefined || known.includes(name) ? [] : [`${name} (did you mean ${meant}?)`];
  });
}

/** Some variables are passwords, and would be printed with any object that refers to them. */
function preventPrinting(target: object): void {
  Object.defineProperties(target, { toJSON: nothing, [inspect.custom]: nothing });
}

/** Makes {@link Configuration} and `ConfigService` injectable everywhere. */
@Module({
  imports: [
    ConfigModule.forRoot({ isGlobal: true, ignoreEnvFile: true, validatePredefined: false, load: [variables(Configuration)] }),
  ],
})
export class ConfigurationModule {
  constructor(configuration: Configuration, service: ConfigService) {
    preventPrinting(service);
    const misspelled = misspelledVariables(configuration);
    if (misspelled.length > 0) {
      new Logger('Configuration').warn(`Unknown variables: ${misspelled.join(', ')}`);
    }
  }
}
