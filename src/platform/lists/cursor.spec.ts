import { hash } from 'node:crypto';
import { decodeCursor, encodeCursor } from './cursor.js';

const id = '0190163d8694739baea5966c26f8ad91';

it('contains any text', () => {
  const position = { id, scope: '00112233445566778899aabbccddeeff', value: 'é😀' };
  expect(decodeCursor(encodeCursor(position, 'a'), 'a')).toEqual(position);
});

/** Its digest is right: that needs no secret. */
function forge(...parts: readonly (Buffer | string)[]): string {
  const position = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'hex') : part)));
  return Buffer.concat([position, hash('sha256', position, 'buffer').subarray(0, 16)]).toString('base64url');
}

it.each([
  ['nothing', forge()],
  ['an unknown version', forge('03', id)],
  ['half a key', forge('02', id.slice(16))],
  ['another spelling of one without a scope', forge('02', id)],
  ['more than a key', forge('01', id, '00')],
  ['U+0000', forge('02', id, id, '00')],
  ['what is not UTF-8', forge('02', id, id, 'ff')],
])('is not %s [cursor-unchanged]', (_what, cursor) => {
  expect(decodeCursor(cursor, '')).toBeUndefined();
});
