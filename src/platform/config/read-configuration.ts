import { AsyncLocalStorage } from 'node:async_hooks';
import { existsSync, readFileSync } from 'node:fs';
import { inspect, parseEnv } from 'node:util';
import { Logger, Module, type Type } from '@nestjs/common';
import { type ConfigFactory, ConfigModule, ConfigService } from '@nestjs/config';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { closestMatch } from 'leven';
import { faultsOf } from '../validation/input-faults.js';
import { Configuration } from './configuration.js';
import { OperatorError } from '../errors/operator-error.js';

const classes = new Set<Type<object>>();
const environments = new WeakMap<Configuration, NodeJS.ProcessEnv>();
const scope = new AsyncLocalStorage<Configuration>();

/**
 * Variables for `ConfigModule.forFeature`, which makes the class injectable and its values available in `ConfigService`.
 * They are validated together with those of the platform, before the application is created.
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
  const faults = faultsOf(errors).map(({ path, detail }) => ({ name: path.join('.'), detail }));
  const lines = new Set(faults.map(({ name, detail }) => `  ${name} ${detail}${hiddenEdge(environment[name])}`));
  if (environment['DATABASE_REPLICA_URLS']?.trim()) {
    lines.add('  DATABASE_REPLICA_URLS must be replaced by DATABASE_READ_URL: one address of all read replicas');
  }
  if (lines.size > 0) {
    const unknown = similarNames(environment).map((name) => `  unknown: ${name}`);
    throw new OperatorError(['The configuration is not valid:', ...lines, ...unknown, 'See .env.example.'].join('\n'));
  }
  const configuration = instanceOf(Configuration, environment);
  environments.set(configuration, environment);
  return configuration;
}

/** Names what is not visible around a value: the line break of `echo`, or quotes that `docker run --env-file` keeps. */
function hiddenEdge(value = ''): string {
  return /^[\s'"]|[\s'"]$/.test(value) ? ' (the value begins or ends with white space or a quotation mark)' : '';
}

function instanceOf<T extends object>(type: Type<T>, environment: NodeJS.ProcessEnv): T {
  const given = Object.keys(new type()).filter((name) => environment[name]?.trim());
  return plainToInstance(type, Object.fromEntries(given.map((name) => [name, environment[name]])));
}

/** Runs a function with this configuration: modules that it creates do not read the environment. */
export function withConfiguration<T>(configuration: Configuration, run: () => T): T {
  return scope.run(configuration, run);
}

/**
 * The environment of the process, with variables of a file `.env` in the working directory that it does not have.
 *
 * @throws OperatorError if the file is not text in UTF-8, or cannot be read
 */
export function loadEnvironment(): NodeJS.ProcessEnv {
  if (existsSync('.env')) {
    for (const [name, value] of Object.entries(parseEnv(readEnvironmentFile()))) {
      process.env[name] ??= value;
    }
  }
  return process.env;
}

/** `process.loadEnvFile` would skip the lines of a binary file, and the first variable behind a byte order mark. */
function readEnvironmentFile(): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync('.env'));
    if (text.includes('\0')) {
      throw new Error('It contains NUL, as a binary file or one in UTF-16.');
    }
    return text;
  } catch (cause) {
    throw new OperatorError('The file .env cannot be read: make it a text file in UTF-8 that this user can read.', {
      cause,
    });
  }
}

/** Unknown names in the environment that are similar to the name of a variable, each with that as a suggestion. */
export function misspelledVariables(configuration: Configuration): string[] {
  return similarNames(environments.get(configuration) ?? {});
}

function similarNames(environment: NodeJS.ProcessEnv): string[] {
  const known = [...classes].flatMap((type) => Object.keys(new type()));
  return Object.keys(environment).flatMap((name) => {
    const meant = closestMatch(name.toUpperCase(), known, { maxDistance: name.length < 6 ? 1 : 2 });
    return meant === undefined || known.includes(name) ? [] : [`${name} (did you mean ${meant}?)`];
  });
}

/** Some variables are passwords, and would be printed with any object that refers to them. */
function preventPrinting(target: object): void {
  const nothing = { value: () => ({}) };
  Object.defineProperties(target, { toJSON: nothing, [inspect.custom]: nothing });
}

/** Makes {@link Configuration} and `ConfigService` injectable everywhere. */
@Module({
  imports: [
    ConfigModule.forRoot({
      isGlobal: true,
      ignoreEnvFile: true,
      load: [variables(Configuration)],
    }),
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
