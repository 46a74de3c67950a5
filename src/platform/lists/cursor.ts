import { hash } from 'node:crypto';

const VERSION = 1;
const POSITION_LENGTH = 1 + 16;
const DIGEST_LENGTH = 16;
const LENGTH = POSITION_LENGTH + DIGEST_LENGTH;

/** Longest cursor, as it is documented: those of later versions may be longer than this one. */
export const CURSOR_MAXIMUM_LENGTH = 512;

/**
 * An opaque, URL-safe position in a list: version, key of the last row seen, and a digest over both and the filter. It
 * grants nothing and needs no secret; the digest is there so that a damaged cursor, or one of another filter, is told to
 * the client instead of showing the wrong rows.
 *
 * @param key - UUID of the last row of a page
 * @param filter - filter expression of the list, empty for none
 */
export function encodeCursor(key: string, filter: string): string {
  const bytes = Buffer.alloc(LENGTH);
  bytes[0] = VERSION;
  bytes.write(key.replaceAll('-', ''), 1, 'hex');
  bytes.set(digest(bytes.subarray(0, POSITION_LENGTH), filter), POSITION_LENGTH);
  return bytes.toString('base64url');
}

/**
 * @returns the key that {@link encodeCursor} was given, in hexadecimal digits, which PostgreSQL takes for a UUID; or undefined for
 * anything that it did not make for this filter
 */
export function decodeCursor(cursor: string, filter: string): string | undefined {
  const bytes = Buffer.from(cursor, 'base64url');
  // Encoding again refuses every other spelling of the same bytes.
  if (bytes.length !== LENGTH || bytes[0] !== VERSION || bytes.toString('base64url') !== cursor) {
    return undefined;
  }
  const position = bytes.subarray(0, POSITION_LENGTH);
  return digest(position, filter).equals(bytes.subarray(POSITION_LENGTH)) ? position.toString('hex', 1) : undefined;
}

function digest(position: Buffer, filter: string): Buffer {
  const given = filter === '' ? position : Buffer.concat([position, Buffer.from(filter)]);
  return hash('sha256', given, 'buffer').subarray(0, DIGEST_LENGTH);
}
