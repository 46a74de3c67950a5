import { isTokenName } from './token-name.js';

describe('the name of a token', () => {
  it.each(['ci', 'continuous integration', 'Zoë 🚲', 'x'.repeat(100), '🚲'.repeat(100)])('can be %j', (name) => {
    expect(isTokenName(name)).toBe(true);
  });

  it.each(['', ' ', '\u00a0', 'a\tb', 'a\nb', 'a\u0000', 'a\u202eb', 'a\u2028b', '\ud800', 'x'.repeat(101)])(
    'cannot be %j',
    (name) => {
      expect(isTokenName(name)).toBe(false);
    },
  );
});
