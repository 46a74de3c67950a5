import { hash } from 'node:crypto';

/** Cursor versions: for lists of all rows newest first, and for all other lists. */
const PLAIN = 1;
const RESTRICTED = 2;

const KEY_LENGTH = 16;
const DIGEST_LENGTH = 16;

/** Documented maximum, which leaves room for later versions. */
export const CURSOR_MAXIMUM_LENGTH = 512;

/** Maximum for lists in the order of a column, whose indexed values have at most 2,700 bytes. */
export const ORDERED_CURSOR_MAXIMUM_LENGTH = 4096;

/** The row before the first row of a page. */
export interface Position {
  /** A UUID, possibly without hyphens. */
  readonly id: string;
  /** Digest of the base condition and order of the list, 32 hexadecimal digits; empty if it has neither. */
  readonly listDigest: string;
  /** The row's value in the sort column, in PostgreSQL's text form; empty without an order. */
  readonly value: string;
}

/** Makes an opaque cursor. It grants nothing: its digest has no secret, and only detects damage and other filters. */
export function encodeCursor({ id, listDigest, value }: Position, filter: string): string {
  const head = Buffer.from(`0${listDigest === '' ? PLAIN : RESTRICTED}${id.replaceAll('-', '')}${listDigest}`, 'hex');
  const position = value === '' ? head : Buffer.concat([head, Buffer.from(value)]);
  const given = filter === '' ? position : Buffer.concat([position, Buffer.from(filter)]);
  // With a buffer as its result, `hash` takes three times as long.
  const digest = hash('sha256', given).slice(0, 2 * DIGEST_LENGTH);
  return Buffer.from(position.toString('hex') + digest, 'hex').toString('base64url');
}

/** @returns undefined unless {@link encodeCursor} made the cursor for this filter */
export function decodeCursor(cursor: string, filter: string): Position | undefined {
  const position = Buffer.from(cursor, 'base64url').subarray(0, -DIGEST_LENGTH);
  const [endOfKey, endOfDigest] = [1 + KEY_LENGTH, 1 + KEY_LENGTH + DIGEST_LENGTH];
  const found = {
    id: position.toString('hex', 1, endOfKey),
    listDigest: position.toString('hex', endOfKey, endOfDigest),
    value: position.toString('utf8', endOfDigest),
  };
  const isWhole = position.length >= endOfKey && !found.value.includes('\0');
  // Encoding it again rejects other versions, lengths, digests and spellings of the same bytes.
  return isWhole && encodeCursor(found, filter) === cursor ? found : undefined;
}
