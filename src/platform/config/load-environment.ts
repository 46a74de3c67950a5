import { existsSync } from 'node:fs';
import { loadEnvFile } from 'node:process';
import { checkNode } from './check-node.js';

/**
 * The environment of the process, completed from a file `.env` in the working directory if there is one.
 *
 * @throws OperatorError when Node is too old
 */
export function loadEnvironment(): NodeJS.ProcessEnv {
  checkNode(process.versions.node);
  if (existsSync('.env')) {
    loadEnvFile('.env');
  }
  return process.env;
}
