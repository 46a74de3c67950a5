/** What the log tells of an error. */
export interface ErrorDescription {
  type: string;
  message: string;
  code?: string;
  stack?: string;
  cause?: ErrorDescription;
}

/**
 * Tells of an error what helps to find its cause, and nothing else that hangs on it: database errors carry rows, parameters
 * and whole connections.
 */
export function describeError(error: unknown): ErrorDescription {
  if (!Error.isError(error)) {
    return { type: typeof error, message: String(error) };
  }
  const { name, message, stack, cause } = error;
  return {
    type: name,
    message,
    ...('code' in error && typeof error.code === 'string' && { code: error.code }),
    ...(stack !== undefined && { stack }),
    ...(cause !== undefined && { cause: describeError(cause) }),
  };
}
