import { parseKeyValues } from './key-values.js';

describe('pairs in one variable', () => {
  it.each([
    ['a=b', { a: 'b' }],
    ['a=b,c.d-e=f', { a: 'b', 'c.d-e': 'f' }],
    [' a = b , c=d e ,', { a: 'b', c: 'd e' }],
    ['authorization=Basic%20YTpi%3D', { authorization: 'Basic YTpi=' }],
    ['key=YTpi==', { key: 'YTpi==' }],
    ['empty=', { empty: '' }],
    ['a=b,a=c', { a: 'c' }],
  ])('are read: %j', (text, expected) => {
    expect(parseKeyValues(text)).toEqual(expected);
  });

  it.each(['a', 'a=b,c', '=b', 'a b=c', 'https://user:password@host', 'postgres://host/x?password=y', 'a=%', 'a=%C3'])(
    'are not guessed: %j',
    (text) => {
      expect(parseKeyValues(text)).toBeUndefined();
    },
  );
});
