import { hideCredentials } from '../auth/hide-credentials.js';
import { withSources } from './with-sources.js';

/** What the log says of an error. */
export interface ErrorDescription {
  type: string;
  message: string;
  code?: string;
  stack?: string;
  cause?: ErrorDescription;
  /** Those of an `AggregateError`: one for each address that was tried, for example. */
  errors?: ErrorDescription[];
}

/**
 * Describes an error without its other properties: those of databases hold rows and parameters, those of Redis arguments of commands.
 *
 * @param above - errors that this one is a cause of: one that is its own cause has no end
 */
export function describeError(error: unknown, above: readonly unknown[] = []): ErrorDescription {
  if (!Error.isError(error)) {
    const isObject = Object(error) === error;
    return { type: typeof error, message: isObject ? Object.prototype.toString.call(error) : hideCredentials(String(error)) };
  }
  const { name, message, stack, cause } = error;
  const within = [...above, error];
  const errors = error instanceof AggregateError ? error.errors.filter((each) => !within.includes(each)) : [];
  return {
    type: name,
    message: withoutSecrets(message),
    ...('code' in error && typeof error.code === 'string' && { code: error.code }),
    ...(stack !== undefined && { stack: withSources(withoutSecrets(stack)) }),
    ...(cause !== undefined && !within.includes(cause) && { cause: describeError(cause, within) }),
    ...(errors.length > 0 && { errors: errors.map((each) => describeError(each, within)) }),
  };
}

/** Redis repeats the arguments of a command that it does not know: the password, where AUTH is renamed or missing. */
function withoutSecrets(text: string): string {
  return hideCredentials(text).replaceAll(/(?<=with args beginning with: ).*/g, '***');
}

/** The message of an error and that of its cause, in one line. */
export function reasonOf(error: unknown): string {
  const { message, cause } = describeError(error);
  return cause ? `${message} ${cause.message || (cause.errors?.[0]?.message ?? '')}` : message;
}
