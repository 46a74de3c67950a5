import { createHash } from 'node:crypto';

/** An opaque position: the key of the last row seen, and a digest of it and the filter. */
export function encodeCursor(id: string, filter: string): string {
  const key = Buffer.from(id.replaceAll('-', ''), 'hex');
  const digest = createHash('sha256').update(key).update(filter).digest().subarray(0, 16);
  return Buffer.concat([key, digest]).toString('base64url');
}

/** The key, or undefined for what is no cursor of a list with this filter. */
export function decodeCursor(cursor: string, filter: string): string | undefined {
  const hex = Buffer.from(cursor, 'base64url').toString('hex', 0, 16);
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return id.length === 36 && encodeCursor(id, filter) === cursor ? id : undefined;
}
