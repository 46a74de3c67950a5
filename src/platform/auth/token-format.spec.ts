import { readFile } from 'node:fs/promises';
import {
  tokenDigest,
  generateToken,
  isTokenName,
  isWellFormedToken,
  TOKEN_NAME_RULE,
  TOKEN_PREFIX,
} from './token-format.js';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** CRC-32 as in RFC 1952, bit by bit. */
function crcOf(text: string): number {
  let crc = -1;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}

/** A text and its checksum in base62. */
function withChecksum(text: string): string {
  const digits = [5, 4, 3, 2, 1, 0].map((power) => DIGITS.charAt(Math.floor(crcOf(text) / 62 ** power) % 62));
  return text + digits.join('');
}

const zeros = (count: number, prefix = TOKEN_PREFIX) => withChecksum(prefix + '0'.repeat(count));

describe('a token', () => {
  it('consists of a prefix, 30 random characters and a checksum of 6 characters [token-format]', () => {
    const tokens = Array.from({ length: 1000 }, generateToken);
    for (const token of tokens) expect(token).toMatch(/^items_[0-9A-Za-z]{36}$/);
    expect(new Set(tokens.map((token) => token.slice(-36, -6))).size).toBe(1000);
    expect(tokens.every(isWellFormedToken)).toBe(true);
  });

  it('has a checksum that others can compute [token-checksum]', () => {
    expect(crcOf('123456789')).toBe(0xcbf43926);
    expect(withChecksum('token_000000000000000000000000000000')).toBe('token_0000000000000000000000000000000VreoY');
    expect(isWellFormedToken(zeros(30))).toBe(true);
  });

  it.each([
    ['29 random characters', zeros(29)],
    ['31 random characters', zeros(31)],
    ['another prefix', zeros(30, 'another_')],
    ['something before the prefix', zeros(30, `x${TOKEN_PREFIX}`)],
    ['other characters', withChecksum(TOKEN_PREFIX + '-'.repeat(30))],
    ['nothing', '000000'],
    ['a line break', `${zeros(30)}\n`],
  ])('is not well-formed with %s, whatever its checksum', (_case, text) => {
    expect(isWellFormedToken(text)).toBe(false);
  });

  it('matches the pattern for secret scanners in docs/authentication.md [token-scanners]', async () => {
    const guide = await readFile('docs/authentication.md', 'utf8');
    const pattern = new RegExp(/`(\\bitems_.+\\b)`/.exec(guide)?.[1] ?? '^', 'g');
    const token = generateToken();
    const places = [`TOKEN=${token}`, `{"token":"${token}"}`, `Bearer ${token}\n`, `https://x/?access_token=${token}&y`];
    for (const place of places) expect(place.match(pattern)).toEqual([token]);
    for (const other of [token.slice(0, -1), `${token}0`, 'items_http_request_duration_seconds_bucket', 'items:read']) {
      expect(other.match(pattern)).toBeNull();
    }
  });

  it('is detected as mistyped when any one character differs [token-checksum]', () => {
    const token = generateToken();
    for (let index = 0; index < token.length; index += 1) {
      const other = token[index] === 'a' ? 'b' : 'a';
      expect(isWellFormedToken(token.slice(0, index) + other + token.slice(index + 1))).toBe(false);
    }
  });
});

describe('the name of a token', () => {
  it.each(['ci', 'continuous integration', 'Zoë 🚲', 'x'.repeat(100), '🚲'.repeat(100)])('can be %j', (name) => {
    expect(isTokenName(name)).toBe(true);
  });

  it('has a rule for messages, which says its length', () => {
    expect(`write ${TOKEN_NAME_RULE}`).toBe('write 1 to 100 printable characters');
  });

  it.each(['', ' ', '\u00a0', 'a\tb', 'a\nb', 'a\u0000', 'a\u202eb', 'a\u2028b', '\ud800', 'x'.repeat(101)])(
    'cannot be %j',
    (name) => {
      expect(isTokenName(name)).toBe(false);
    },
  );
});

it('a digest is SHA-256 in hexadecimal, as stored ones are', () => {
  const digest = '936a185caaa266bb9cbe981e9e05cb78cd732b0b3280eb944412bb6f8f8f07af';
  expect(tokenDigest('helloworld')).toBe(digest);
});
