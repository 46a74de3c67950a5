import { v5 } from 'uuid';
import { digestOf, fingerprintOf, generateToken } from '../token-format.js';
import { Declaration } from './declaration.js';

const [first = '', second = '', third = ''] = Array.from({ length: 3 }, generateToken);

function declare(...lines: string[]): Declaration {
  const parsed = Declaration.parse(Buffer.from(lines.join('\n')));
  if (!(parsed instanceof Declaration)) {
    throw new Error(parsed.faults.join('\n'));
  }
  return parsed;
}

describe('a declaration', () => {
  it('finds principals by digest, with the scopes that the file gives them', () => {
    const declaration = declare(`a:${first}`, `b:${digestOf(second).toString('hex')}:items:read`);
    expect(declaration.find(fingerprintOf(first))).toMatchObject({ scopes: 'all' });
    expect(declaration.find(fingerprintOf(second))).toMatchObject({ scopes: ['items:read'] });
    expect(declaration.find(fingerprintOf(third))).toBeUndefined();
    expect(declaration.tokens).toEqual([
      { id: declaration.find(fingerprintOf(first))?.id, name: 'a', scopes: 'all' },
      { id: declaration.find(fingerprintOf(second))?.id, name: 'b', scopes: ['items:read'] },
    ]);
  });

  it('gives a token the same id at all times and everywhere, however it is written', () => {
    const hex = digestOf(first).toString('hex');
    const id = v5(hex, 'ded3dc31-2308-4a1e-9bd0-7047068ef6cf');
    for (const line of [`a:${first}`, `b:${hex}`, `c:${hex.toUpperCase()}:items:read`]) {
      expect(declare(line).find(fingerprintOf(first))).toMatchObject({ id, familyId: id });
    }
  });

  it('shows nothing of a token or its digest to whoever prints it', () => {
    const hex = digestOf(first).toString('hex');
    const { tokens } = declare(`a:${first}`);
    expect(JSON.stringify(tokens)).not.toMatch(new RegExp(`${first}|${hex}`));
  });

  it('tells what is new in it, what is another, and what is gone', () => {
    const before = declare(`a:${first}`, `b:${second}:x y`);
    const changes = (...lines: string[]) => {
      const { declared, undeclared } = declare(...lines).changesSince(before);
      return [declared.map(({ name, scopes }) => [name, scopes]), undeclared.map(({ name }) => name)];
    };
    expect(changes(`b:${second}:y x x`, '# moved', `a:${digestOf(first).toString('hex')}`)).toEqual([[], []]);
    expect(changes(`a:${first}`, `b:${second}:x y`, `c:${third}`)).toEqual([[['c', 'all']], []]);
    expect(changes(`a:${first}:x`, `other:${second}:x y`)).toEqual([
      [
        ['a', ['x']],
        ['other', ['x', 'y']],
      ],
      [],
    ]);
    expect(changes()).toEqual([[], ['a', 'b']]);
  });

  it('knows which of its scopes are strange', () => {
    const declaration = declare(`a:${first}`, `b:${second}:z items:read`, `c:${third}:z y`);
    expect(declaration.scopesBeyond(['items:read', 'items:write'])).toEqual(['y', 'z']);
  });

  it('is not made of other files', () => {
    expect(Declaration.parse(Buffer.from(`\ufeffa:${first}`, 'utf16le'))).toEqual({ faults: ['is not in UTF-8'] });
    const parsed = Declaration.parse(Buffer.from('x\n'.repeat(1000)));
    const faults = parsed instanceof Declaration ? [] : parsed.faults;
    expect([faults.length, faults.at(-1)]).toEqual([101, 'and 900 more']);
  });
});
