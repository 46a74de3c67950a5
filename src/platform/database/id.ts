import { v7 } from 'uuid';

/**
 * A new key: a UUIDv7 (RFC 9562, section 5.7), in lower case. Keys made by one process grow strictly, also within a
 * millisecond and when the clock is set back.
 */
export function newId(): string {
  return v7();
}

/**
 * The moment at which a key was made, to the millisecond.
 *
 * @param id - from {@link newId}
 */
export function creationTime(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
}
