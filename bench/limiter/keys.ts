import { randomUUID } from 'node:crypto';

/** What calls are counted by: the id of a token, as the database gives it, in memory of its own. */
export function newKey(): string {
  return Buffer.from(randomUUID()).toString('latin1');
}
