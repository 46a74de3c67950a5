import { decodeCursor, encodeCursor } from './cursor.js';
import { newId } from '../database/id.js';

describe('a cursor', () => {
  const key = newId();

  it('gives back its key for its own filter alone', () => {
    const cursor = encodeCursor(key, 'name == "x"');
    expect(decodeCursor(cursor, 'name == "x"')).toBe(key);
    expect(decodeCursor(cursor, 'name == "y"')).toBeUndefined();
    expect(decodeCursor(cursor, '')).toBeUndefined();
  });

  it('is URL-safe and short', () => {
    expect(encodeCursor(key, '')).toMatch(/^[A-Za-z0-9_-]{44}$/);
  });

  it('is refused after a change to any bit', () => {
    const bytes = Buffer.from(encodeCursor(key, ''), 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(decodeCursor(changed.toString('base64url'), '')).toBeUndefined();
    }
  });

  it.each([
    ['other alphabets', (cursor: string) => Buffer.from(cursor, 'base64url').toString('hex')],
    ['padding', (cursor: string) => `${cursor}==`],
    ['white space', (cursor: string) => `${cursor}\n`],
    ['characters that a lenient decoder skips', (cursor: string) => `${cursor.slice(0, 9)}*${cursor.slice(9)}`],
    ['a great length', (cursor: string) => cursor.repeat(20)],
    ['nothing', () => ''],
  ])('is refused in another spelling: %s', (_case, respell) => {
    expect(decodeCursor(respell(encodeCursor(key, '')), '')).toBeUndefined();
  });
});
