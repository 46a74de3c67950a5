import { digestOf, generateToken } from '../token-format.js';
import { parseTokensFile } from './parse-tokens-file.js';

const token = generateToken();
const other = generateToken();
const hex = digestOf(token).toString('hex');
const digest = digestOf(token);

describe('a file of tokens', () => {
  it.each([
    ['a token', `ci:${token}`, 'ci', 'all'],
    ['a SHA-256', `ci:${hex}`, 'ci', 'all'],
    ['a SHA-256 in capital letters', `ci:${hex.toUpperCase()}`, 'ci', 'all'],
    ['a scope', `ci:${token}:items:read`, 'ci', ['items:read']],
    ['scopes', `ci:${hex}:items:read items:write`, 'ci', ['items:read', 'items:write']],
    ['scopes with more spaces, and twice', `ci:${hex}: items:read  items:write items:read `, 'ci', ['items:read', 'items:write']],
    ['a name of many words', `the nightly job #2:${token}`, 'the nightly job #2', 'all'],
  ])('declares %s', (_case, text, name, scopes) => {
    expect(parseTokensFile(text)).toEqual({ tokens: [{ name, digest, scopes }] });
  });

  it.each([
    ['nothing', ''],
    ['blank lines', '\n  \n\t\n'],
    ['comments', `# ci:${token}\n#\n   # ci:${token}`],
    ['a byte order mark', '\ufeff# tokens\r\n'],
  ])('may have %s, and no tokens', (_case, text) => {
    expect(parseTokensFile(text)).toEqual({ tokens: [] });
  });

  it('may have lines that end as on Windows, a byte order mark, and one name twice', () => {
    expect(parseTokensFile(`\ufeffci:${token}\r\n\r\nci:${other}:a b\r\n`)).toEqual({
      tokens: [
        { name: 'ci', digest, scopes: 'all' },
        { name: 'ci', digest: digestOf(other), scopes: ['a', 'b'] },
      ],
    });
  });
});

describe('a wrong line', () => {
  const mistyped = `${token.slice(0, -1)}${token.endsWith('a') ? 'b' : 'a'}`;

  it.each([
    ['has no colon', 'ci', 'no colon'],
    ['has a token alone', token, 'no colon'],
    ['has no name', `:${token}`, 'no name'],
    ['has a blank name', `  :${token}`, 'no name'],
    ['has a long name', `${'x'.repeat(101)}:${token}`, 'no name'],
    ['has a name with a tab', `c\ti:${token}`, 'no name'],
    ['has a token for a name', `${other}:${token}`, 'where its name belongs'],
    ['has a mistyped token for a name', `${mistyped}:${hex}`, 'where its name belongs'],
    ['has a SHA-256 for a name', `${hex}:${token}`, 'where its name belongs'],
    ['has no token', 'ci:', 'neither a token nor'],
    ['has something else for a token', 'ci:hunter2', 'neither a token nor'],
    ['has a mistyped token', `ci:${mistyped}`, 'neither a token nor'],
    ['has a space before the token', `ci: ${token}`, 'neither a token nor'],
    ['has a space behind the token', `ci:${token} `, 'neither a token nor'],
    ['has a short SHA-256', `ci:${hex.slice(1)}`, 'neither a token nor'],
    ['has a long SHA-256', `ci:${hex}0`, 'neither a token nor'],
    ['has an empty third part', `ci:${token}:`, 'no scopes'],
    ['has a blank third part', `ci:${token}:  `, 'no scopes'],
    ['has a scope with a quote', `ci:${token}:items:"read"`, 'a scope that is none'],
    ['has a scope with a tab', `ci:${token}:items:read\titems:write`, 'a scope that is none'],
    ['has a scope beyond ASCII', `ci:${token}:items:lésen`, 'a scope that is none'],
    ['has a token for a scope', `ci:${hex}:${token}`, 'where its scopes belong'],
    ['has a mistyped token for a scope', `ci:${hex}:items:read ${mistyped}`, 'where its scopes belong'],
    ['has a SHA-256 for a scope', `ci:${token}:${hex}`, 'where its scopes belong'],
  ])('that %s is named by its number alone', (_case, text, detail) => {
    const parsed = parseTokensFile(`# first\nfine:${generateToken()}\n${text}\n`);
    expect(parsed).toEqual({ faults: [{ line: 3, detail: expect.stringContaining(detail) }] });
    for (const part of [token, mistyped, other, hex, 'hunter2', 'lésen']) expect(JSON.stringify(parsed)).not.toContain(part);
  });

  it('is one that declares a token again, however it is written', () => {
    for (const second of [token, hex, hex.toUpperCase()]) {
      expect(parseTokensFile(`a:${token}\n\nb:${second}:items:read`)).toEqual({
        faults: [{ line: 3, detail: 'declares the token of line 1 again: keep one of the two' }],
      });
    }
  });

  it('hides no other, and no other fault of its own', () => {
    const parsed = parseTokensFile(`ci\n:x:\nfine:${token}\n:${token}:\t`);
    expect('faults' in parsed && parsed.faults.map(({ line }) => line)).toEqual([1, 2, 2, 2, 4, 4, 4]);
  });
});
