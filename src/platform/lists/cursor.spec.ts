import { hash } from 'node:crypto';
import { decodeCursor, encodeCursor } from './cursor.js';

const id = '0190163d8694739baea5966c26f8ad91';
const positions = [
  { id, scope: '', value: '' },
  { id, scope: '00112233445566778899aabbccddeeff', value: '' },
  { id, scope: '00112233445566778899aabbccddeeff', value: 'é😀' },
];

/** Its digest is right: that needs no secret. */
function forge(...parts: readonly (Buffer | string)[]): string {
  const position = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'hex') : part)));
  return Buffer.concat([position, hash('sha256', position, 'buffer').subarray(0, 16)]).toString('base64url');
}

it.each(positions)('is decoded with its own filter, and with no other: %j', (position) => {
  const cursor = encodeCursor(position, 'a');
  expect([decodeCursor(cursor, 'a'), decodeCursor(cursor, 'b'), decodeCursor(cursor, '')]).toEqual([
    position,
    undefined,
    undefined,
  ]);
  const bytes = Buffer.from(cursor, 'base64url');
  for (const at of bytes.keys()) {
    expect(decodeCursor(Buffer.from(bytes.with(at, (bytes[at] ?? 0) ^ 1)).toString('base64url'), 'a')).toBeUndefined();
    expect(decodeCursor(bytes.subarray(0, at).toString('base64url'), 'a')).toBeUndefined();
  }
});

it.each([
  ['nothing', forge()],
  ['an unknown version', forge('03', id)],
  ['half a key', forge('02', id.slice(16))],
  ['another spelling of one without a scope', forge('02', id)],
  ['more than a key', forge('01', id, '00')],
  ['U+0000', forge('02', id, id, '00')],
  ['what is not UTF-8', forge('02', id, id, 'ff')],
])('is not %s', (_what, cursor) => {
  expect(decodeCursor(cursor, '')).toBeUndefined();
});
