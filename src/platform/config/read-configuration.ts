import { existsSync } from 'node:fs';
import { loadEnvFile } from 'node:process';
import { validateInput } from '../validation/validate-input.js';
import { Configuration } from './configuration.js';
import { OperatorError } from './operator-error.js';

/** A configuration that cannot be used. The message names every variable at fault and never a value. */
export class ConfigurationError extends OperatorError {
  override readonly name = 'ConfigurationError';
}

/**
 * Reads and checks the configuration once, for the whole process. A variable that is empty counts as unset.
 *
 * @param environment - usually `process.env`
 * @throws ConfigurationError naming all faults at once
 */
export function readConfiguration(environment: NodeJS.ProcessEnv): Configuration {
  const names = Object.keys(new Configuration());
  const given = names.filter((name) => environment[name]?.trim());
  const { value, faults } = validateInput(Configuration, Object.fromEntries(given.map((name) => [name, environment[name]])));
  if (faults.length > 0) {
    const lines = faults.map((fault) => `  ${fault.path.join('.')} ${fault.detail}`);
    throw new ConfigurationError(['The configuration is not valid:', ...lines, 'See .env.example.'].join('\n'));
  }
  return value;
}

/** The environment of the process, completed from a file `.env` in the working directory if there is one. */
export function loadEnvironment(): NodeJS.ProcessEnv {
  if (existsSync('.env')) {
    loadEnvFile('.env');
  }
  return process.env;
}
