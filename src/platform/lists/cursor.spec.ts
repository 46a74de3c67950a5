import { hash } from 'node:crypto';
import * as fc from 'fast-check';
import { decodeCursor, encodeCursor } from './cursor.js';

const id = '0190163d8694739baea5966c26f8ad91';
const listDigest = '00112233445566778899aabbccddeeff';

const digits = (length: number) =>
  fc.uint8Array({ minLength: length / 2, maxLength: length / 2 }).map((bytes) => Buffer.from(bytes).toString('hex'));
const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\0'));
const positions = fc.oneof(
  fc.record({ id: digits(32), listDigest: fc.constant(''), value: fc.constant('') }),
  fc.record({ id: digits(32), listDigest: digits(32), value: text }),
);

it('leads back to its row, with the same filter only', () => {
  fc.assert(
    fc.property(positions, text, text, (position, filter, other) => {
      const cursor = encodeCursor(position, filter);
      expect(decodeCursor(cursor, filter)).toEqual(position);
      if (other !== filter) expect(decodeCursor(cursor, other)).toBeUndefined();
    }),
  );
});

it.each([
  ['AQGQFj2GlHObrqWWbCb4rZGYhQbbe1xIENrt7xCB_Jm4', '', '', ''],
  ['AQGQFj2GlHObrqWWbCb4rZGv-5s0o2bFb7dW4Bvs693c', 'name == "x"', '', ''],
  ['AgGQFj2GlHObrqWWbCb4rZEAESIzRFVmd4iZqrvM3e7_w6n_GP42hRgIapgGM9nlLHAL', '', listDigest, 'é'],
])('%s keeps its meaning in later releases', (cursor, filter, digest, value) => {
  expect(encodeCursor({ id: '0190163d-8694-739b-aea5-966c26f8ad91', listDigest: digest, value }, filter)).toBe(cursor);
  expect(decodeCursor(cursor, filter)).toEqual({ id, listDigest: digest, value });
});

/** Its digest is right: that needs no secret. */
function forge(...parts: readonly (Buffer | string)[]): string {
  const position = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'hex') : part)));
  return Buffer.concat([position, hash('sha256', position, 'buffer').subarray(0, 16)]).toString('base64url');
}

it.each([
  ['nothing', forge()],
  ['an unknown version', forge('03', id)],
  ['a version without a key', forge('01')],
  ['half a key', forge('01', id.slice(16))],
  ['half a key with a digest', forge('02', id.slice(16))],
  ['another spelling of one without a digest', forge('02', id)],
  ['another spelling of the same bytes', `${forge('01', id)}=`],
  ['one with a damaged digest', forge('01', id).slice(0, -2)],
  ['more than a key', forge('01', id, '00')],
  ['U+0000', forge('02', id, id, '00')],
  ['U+0000 within a value', forge('02', id, id, '610062')],
  ['what is not UTF-8', forge('02', id, id, 'ff')],
])('is not %s [cursor-unchanged]', (_what, cursor) => {
  expect(decodeCursor(cursor, '')).toBeUndefined();
});
