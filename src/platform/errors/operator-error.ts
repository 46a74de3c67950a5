import { hideCredentials } from './redaction.js';
import { describeError, type ErrorDescription } from './describe-error.js';

/** An error that the operator can fix: its message says how, and is printed without a stack. */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError';
}

/** Prints to standard error why the process cannot continue, and ends it with exit code 1. */
export function reportFailure(error: unknown): never {
  process.stderr.write(`${failureText(error)}\n`);
  process.exit(1);
}

/** The message of an {@link OperatorError}, or the stacks of other errors and their causes. */
export function failureText(error: unknown): string {
  return error instanceof OperatorError ? hideCredentials(error.message) : stacks(describeError(error));
}

function stacks({ type, message, code, stack, cause, errors = [] }: ErrorDescription): string {
  const parts = [
    ...(code === undefined ? [] : [`[code]: ${code}`]),
    ...errors.map((error) => `[error]: ${stacks(error)}`),
    ...(cause ? [`[cause]: ${stacks(cause)}`] : []),
  ];
  return [stack ?? `${type}: ${message}`, ...parts].join('\n').replaceAll('\n', '\n  ');
}
