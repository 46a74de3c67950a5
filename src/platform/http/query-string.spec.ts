import { malformedParameters, parseQueryString } from './query-string.js';

it('reads every parameter of a query, however many come before', () => {
  expect(parseQueryString(`${'&'.repeat(5000)}filter=a%20%26&b=1&b=2&c`)).toEqual({ filter: 'a &', b: ['1', '2'], c: '' });
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
