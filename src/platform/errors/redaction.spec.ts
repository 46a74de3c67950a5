import { generateToken } from '../auth/token-format.js';
import { hideCredentials, shownPath } from './redaction.js';

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
    `${'items_'.replace('_', '%5F')}${'a'.repeat(23)}`,
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
