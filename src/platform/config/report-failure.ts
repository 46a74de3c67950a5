import { inspect } from 'node:util';
import { OperatorError } from './operator-error.js';

/** Says on standard error why the process cannot go on, and makes it end with exit code 1. */
export function reportFailure(error: unknown): never {
  const text = error instanceof OperatorError ? error.message : inspect(error);
  process.stderr.write(`${text}\n`);
  process.exit(1);
}
