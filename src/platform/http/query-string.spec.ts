import { malformedParameters, parseQueryString } from './query-string.js';

it('reads every parameter of a query, however many separators come before', () => {
  expect(parseQueryString(`${'&'.repeat(5000)}filter=a%20%26&b=1&b=2&c`)).toEqual({ filter: 'a &', b: ['1', '2'], c: '' });
});

it('reads no parameters where there is no query', () => {
  expect(parseQueryString(null)).toEqual({});
});

it('refuses more than 50 parameters', () => {
  const query = (count: number) => Array.from({ length: count }, (_, index) => `a${index % 3}=${index}`).join('&');
  expect(parseQueryString(query(50))['a0']).toHaveLength(17);
  expect(() => parseQueryString(query(51))).toThrow('The query must have at most 50 parameters.');
});

it.each([
  ['/v1/items', []],
  ['/v1/items?filter=%F0%9F%98%80%25+x&limit=', []],
  ['/v1/items?filter=100%', ['filter']],
  ['/v1/items?a=1&filter=%FF&b=%zz', ['filter', 'b']],
  ['/v1/items?filter=%ED%A0%80', ['filter']],
  ['/v1/items?%80=1', ['%80']],
  ['/v1/items?filter=?%', ['filter']],
])('finds in %s what is not percent-encoded UTF-8: %j', (url, names) => {
  expect(malformedParameters(url)).toEqual(names);
});
