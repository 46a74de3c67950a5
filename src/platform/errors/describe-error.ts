import { hideCredentials } from './redaction.js';

/** The logged properties of an error. */
export interface ErrorDescription {
  type: string;
  message: string;
  code?: string;
  stack?: string;
  cause?: ErrorDescription;
  /** Errors of an `AggregateError`, for example one for each address. */
  errors?: ErrorDescription[];
}

/** Omits properties that can hold rows, parameters or Redis arguments. @param above - outer errors, to stop at cycles */
export function describeError(error: unknown, above: readonly unknown[] = []): ErrorDescription {
  if (!isError(error)) {
    return { type: typeof error, message: messageOf(error) };
  }
  const { name, message, stack, cause } = error;
  const enclosing = [...above, error];
  const errors = error instanceof AggregateError ? error.errors.filter((each) => !enclosing.includes(each)) : [];
  return {
    type: name,
    message: withoutSecrets(message),
    ...('code' in error && typeof error.code === 'string' && { code: error.code }),
    ...(stack !== undefined && { stack: withoutSecrets(stack) }),
    ...(cause !== undefined && !enclosing.includes(cause) && { cause: describeError(cause, enclosing) }),
    ...(errors.length > 0 && { errors: errors.map((each) => describeError(each, enclosing)) }),
  };
}

/** Whether a value is an error, of any realm, or an object with the prototype of one, such as of `jsonwebtoken`. */
export function isError(value: unknown): value is Error {
  return Error.isError(value) || value instanceof Error;
}

/** The message of a thrown value that is no `Error`, such as the object that a microservice client gets from its server. */
function messageOf(thrown: unknown): string {
  if (Object(thrown) !== thrown) {
    return hideCredentials(String(thrown));
  }
  // A list, if it is the response of an exception of Nest's `ValidationPipe`.
  const messages = [(thrown as { message?: unknown }).message].flat();
  const texts = messages.filter((message) => typeof message === 'string' || typeof message === 'number');
  return texts.length > 0 ? withoutSecrets(texts.join('; ')) : Object.prototype.toString.call(thrown);
}

/** The messages of an error and of its causes, joined with spaces. Of an `AggregateError`, only the first error counts. */
export function reasonOf(error: unknown): string {
  const messages: string[] = [];
  for (let each: ErrorDescription | undefined = describeError(error); each; each = each.cause ?? each.errors?.[0]) {
    messages.push(each.message.trim());
  }
  return messages.filter((message) => message !== '').join(' ');
}

/** Masks secrets. Redis quotes the arguments of an unknown command: the password, if AUTH is renamed or missing. */
export function withoutSecrets(text: unknown): string {
  // JavaScript allows an error's message to have any type.
  return hideCredentials(String(text)).replaceAll(/(?<=with args beginning with: ).*/g, '***');
}
