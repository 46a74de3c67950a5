import { readFile } from 'node:fs/promises';
import {
  digestOf,
  generateToken,
  hideCredentials,
  isTokenName,
  isWellFormedToken,
  shownPath,
  TOKEN_NAME_RULE,
} from './token-format.js';

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
  expect(digestOf('helloworld')).toBe(digest);
});

describe('hideCredentials [no-secrets-shown]', () => {
  const token = generateToken();
  const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl';

  it.each([
    [`/v1/items/${token}`, '/v1/items/***'],
    [`/v1/items/${token.replace('_', '%5F')}/x`, '/v1/items/***/x'],
    [`/v1/items/${token.replace('_', '%2e')}/x`, '/v1/items/***/x'],
    [`{"pointer":"/${token.slice(0, -5)}"}`, '{"pointer":"/***"}'],
    [`/v1/items/${jwt.replace('I', '%49')}`, '/v1/items/***'],
    [`?access_token=${token}!&b`, '?access_token=***!&b'],
    [`Bearer ${jwt}`, 'Bearer ***'],
    [`Bearer%20${jwt}`, '***'],
    [`${jwt}..`, '***'],
    [`/v1/a.b.c.d.${jwt}`, '/v1/***'],
    ['eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.', '***'],
    [`${token} and ${jwt},${token}`, '*** and ***,***'],
  ])('%s', (text, expected) => {
    expect(hideCredentials(text)).toBe(expected);
  });

  it.each([
    '/v1/items',
    '/v1/items/0190163d-8694-739b-aea5-966c26f8ad91',
    'items_http_requests.total.sum',
    'docs/assets/a.b.css',
    // Shorter than any token that somebody could complete.
    `items_${'a'.repeat(23)}`,
    `items%5F${'a'.repeat(23)}`,
  ])('does not change a text without credentials: %s', (text) => {
    expect(hideCredentials(text)).toBe(text);
  });

  it.each(['eyJ', 'a', 'a.', 'items_', 'eyJ.', '-.eyJ'])('takes linear time for repetitions of %s', (part) => {
    const text = part.repeat(2_000_000 / part.length);
    expect(hideCredentials(text).length).toBeGreaterThan(0);
  });
});

describe('shownPath', () => {
  it.each([
    ['/v1/items', '/v1/items'],
    ['a'.repeat(256), 'a'.repeat(256)],
    ['a'.repeat(257), 'a'.repeat(256)],
    [`${'a'.repeat(253)}%20`, `${'a'.repeat(253)}%20`],
    [`${'a'.repeat(254)}🚲`, `${'a'.repeat(254)}🚲`],
    [`${'a'.repeat(255)}%`, `${'a'.repeat(255)}%`],
  ])('cuts %s at 256 characters [path-length-shown]', (path, expected) => {
    expect(shownPath(path)).toBe(expected);
  });

  it.each(['%20', '%C3%A9', '%e2%82%ac', '%F0%9F%9A%B2', '🚲'])('does not cut within %s', (character) => {
    for (let length = 240; length <= 260; length += 1) {
      const shown = shownPath('a'.repeat(length) + character.repeat(20));
      expect(shown.length).toBeLessThanOrEqual(256);
      expect(shown.length).toBeGreaterThan(230);
      expect(decodeURIComponent(shown)).toMatch(new RegExp(`^a{240,}(?:${decodeURIComponent(character)})*$`, 'u'));
    }
  });

  it('hides credentials that it would cut', () => {
    const token = generateToken();
    const jwt = `eyJhbGciOiJSUzI1NiJ9.${'eyJzdWIiOiJhbGljZSJ9'.repeat(100)}.c2lnbmF0dXJl`;
    for (let length = 200; length <= 256; length += 1) {
      const start = `/${'a/'.repeat(length).slice(0, length - 2)}/`;
      for (const credential of [token, token.replace('_', '%5F'), jwt]) {
        expect(shownPath(start + credential)).toBe(`${start}***`.slice(0, 256));
      }
    }
  });
});
