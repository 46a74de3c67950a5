import { readFile } from 'node:fs/promises';
import { tokenDigest, generateToken, isTokenName, isWellFormedToken, TOKEN_NAME_RULE } from './token-format.js';

describe('a token', () => {
  it('consists of a prefix, 30 random characters and a checksum of 6 characters [token-format]', () => {
    const tokens = Array.from({ length: 1000 }, generateToken);
    for (const token of tokens) expect(token).toMatch(/^items_[0-9A-Za-z]{36}$/);
    expect(new Set(tokens.map((token) => token.slice(6, 36))).size).toBe(1000);
    expect(tokens.every(isWellFormedToken)).toBe(true);
  });

  it('has a checksum that others can compute [token-checksum]', () => {
    // Made with another implementation: CRC-32 of the first 36 characters, in base62 with the digits 0-9A-Za-z.
    expect(isWellFormedToken('items_0000000000000000000000000000000RRSUK')).toBe(true);
  });

  it.each([
    ['29 random characters', 'items_000000000000000000000000000002heVs1'],
    ['31 random characters', 'items_00000000000000000000000000000000chJWu'],
    ['another prefix', 'other_00000000000000000000000000000005wajw'],
    ['something before the prefix', 'xitems_0000000000000000000000000000002KP03h'],
    ['other characters', 'items_------------------------------11VGtW'],
    ['nothing', '000000'],
    ['a line break', 'items_0000000000000000000000000000000RRSUK\n'],
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
