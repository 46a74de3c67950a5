import { digestOf, generateToken, isWellFormedToken } from './token-format.js';

describe('a token', () => {
  it('is a prefix, 30 random characters and a checksum of 6', () => {
    const tokens = Array.from({ length: 1000 }, generateToken);
    for (const token of tokens) expect(token).toMatch(/^items_[0-9A-Za-z]{36}$/);
    expect(new Set(tokens.map((token) => token.slice(6, 36))).size).toBe(1000);
    expect(tokens.every(isWellFormedToken)).toBe(true);
  });

  it('has the checksum that others can compute', () => {
    // Made with another implementation: CRC-32 of the first 36 characters, in base62 with the digits 0-9A-Za-z.
    expect(isWellFormedToken('items_0000000000000000000000000000000RRSUK')).toBe(true);
  });

  it('is recognised as mistyped when any one character differs', () => {
    const token = generateToken();
    for (let index = 0; index < token.length; index += 1) {
      const other = token[index] === 'a' ? 'b' : 'a';
      expect(isWellFormedToken(token.slice(0, index) + other + token.slice(index + 1))).toBe(false);
    }
  });

  it('is stored as its SHA-256', () => {
    expect(digestOf('abc').toString('hex')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
