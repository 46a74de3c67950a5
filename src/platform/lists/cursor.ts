import { createHash } from 'node:crypto';
import { parse, stringify } from 'uuid';

const VERSION = 1;
const KEY_LENGTH = 16;
const DIGEST_LENGTH = 16;

/** Longest text that is looked at as a cursor. */
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
  const position = Buffer.from([VERSION, ...parse(key)]);
  return Buffer.concat([position, digest(position, filter)]).toString('base64url');
}

/**
 * @returns the key that {@link encodeCursor} was given, or undefined for anything that it did not make for this filter
 */
export function decodeCursor(cursor: string, filter: string): string | undefined {
  if (cursor.length > CURSOR_MAXIMUM_LENGTH) {
    return undefined;
  }
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length !== 1 + KEY_LENGTH + DIGEST_LENGTH || bytes[0] !== VERSION) {
    return undefined;
  }
  const key = stringifyKey(bytes.subarray(1, 1 + KEY_LENGTH));
  // Encoding again refuses every other spelling of the same bytes.
  return key !== undefined && encodeCursor(key, filter) === cursor ? key : undefined;
}

/** Undefined for bytes that are no UUID of any version. */
function stringifyKey(bytes: Uint8Array): string | undefined {
  try {
    return stringify(bytes);
  } catch {
    return undefined;
  }
}

function digest(position: Buffer, filter: string): Buffer {
  return createHash('sha256').update(position).update(filter).digest().subarray(0, DIGEST_LENGTH);
}
