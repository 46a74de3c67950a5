import { describeError, type ErrorDescription } from '../observability/describe-error.js';

/** What an error says, and then its causes, each once; of one that sums up others, what those say. */
export function causesOf(error: unknown): string[] {
  return [...new Set(messagesOf(describeError(error)))];
}

function messagesOf({ message, code, cause, errors = [] }: ErrorDescription): string[] {
  const own = message === '' || message === 'fetch failed' ? [] : [message.replace(/\.$/, '')];
  const others = errors.flatMap(messagesOf);
  const all = [...own, ...others, ...(cause ? messagesOf(cause) : [])];
  return all.length > 0 || code === undefined ? all : [code];
}
