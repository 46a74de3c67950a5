import { hash } from 'node:crypto';

/** Versions of cursors: of lists of all rows, newest first, and of other lists. */
const PLAIN = 1;
const SCOPED = 2;

const KEY_LENGTH = 16;
const DIGEST_LENGTH = 16;

/** Longest cursor, as it is documented: those of later versions may be longer than those of this one. */
export const CURSOR_MAXIMUM_LENGTH = 512;

/** The same for lists in the order of a column, of which an index takes values of 2,700 bytes. */
export const ORDERED_CURSOR_MAXIMUM_LENGTH = 4096;

/** The row after which a page begins. */
export interface Position {
  /** Its key: a UUID, which may lack hyphens. */
  readonly id: string;
  /** 16 bytes in hexadecimal digits that identify the base condition and the order of the list; empty where it has neither. */
  readonly scope: string;
  /** The row's value in the column of the order, as PostgreSQL writes it; empty without one. */
  readonly value: string;
}

/**
 * An opaque, URL-safe position in a list: version, key of the last row, scope and value, and a digest of these and the filter. It grants
 * nothing and needs no secret: the digest detects a damaged cursor, or one of another filter.
 *
 * @param filter - filter expression of the list, empty for none
 */
export function encodeCursor({ id, scope, value }: Position, filter: string): string {
  const head = Buffer.from(`0${scope === '' ? PLAIN : SCOPED}${id.replaceAll('-', '')}${scope}`, 'hex');
  const position = value === '' ? head : Buffer.concat([head, Buffer.from(value)]);
  const given = filter === '' ? position : Buffer.concat([position, Buffer.from(filter)]);
  // As a buffer, a hash takes three times as long.
  const digest = hash('sha256', given).slice(0, 2 * DIGEST_LENGTH);
  return Buffer.from(position.toString('hex') + digest, 'hex').toString('base64url');
}

/** @returns what {@link encodeCursor} was given; or undefined for anything that it did not make for this filter */
export function decodeCursor(cursor: string, filter: string): Position | undefined {
  const position = Buffer.from(cursor, 'base64url').subarray(0, -DIGEST_LENGTH);
  const [endOfKey, endOfScope] = [1 + KEY_LENGTH, 1 + KEY_LENGTH + DIGEST_LENGTH];
  const found = {
    id: position.toString('hex', 1, endOfKey),
    scope: position.toString('hex', endOfKey, endOfScope),
    value: position.toString('utf8', endOfScope),
  };
  const isWhole = position.length >= endOfKey && !found.value.includes('\0');
  // Encoding again refuses another version, length or digest, and every other spelling of the same bytes.
  return isWhole && encodeCursor(found, filter) === cursor ? found : undefined;
}
