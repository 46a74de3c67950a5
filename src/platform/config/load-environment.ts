import { existsSync } from 'node:fs';
import { loadEnvFile } from 'node:process';

/** The environment of the process, completed from a file `.env` in the working directory if there is one. */
export function loadEnvironment(): NodeJS.ProcessEnv {
  if (existsSync('.env')) {
    loadEnvFile('.env');
  }
  return process.env;
}
