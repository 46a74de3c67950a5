import { isOrigin, isPublicUrl, pathPrefixOf } from './origins.js';

it.each([
  'https://shop.example',
  'http://localhost:5173',
  'https://xn--bcher-kva.example:8443',
  'http://127.0.0.1',
  'http://[::1]:3000',
  'https://my_shop.example',
])('%s is an origin', (text) => {
  expect(isOrigin(text)).toBe(true);
});

it.each([
  '',
  '*',
  'null',
  'shop.example',
  '//shop.example',
  'https://',
  'https://shop.example/',
  'https://shop.example/path',
  'https://shop.example?x',
  'https://shop.example#x',
  'https://*.shop.example',
  'https://user@shop.example',
  'https://Shop.example',
  'HTTPS://shop.example',
  'https://shop.example:443',
  'http://shop.example:80',
  'https://shop.example:0443',
  'https://shop.example:99999',
  'https://shop.example\n',
  ' https://shop.example',
  'https://bücher.example',
  'http://127.1',
  'http://[::0:1]',
  'javascript:alert(1)',
  'ftp://shop.example',
  'file://',
  'chrome-extension://abc',
  'https://shop.example,https://b.example',
])('%j is no origin that a browser sends', (text) => {
  expect(isOrigin(text)).toBe(false);
});

it.each([
  ['https://api.example.com', ''],
  ['http://localhost:8080/catalog', '/catalog'],
  ['https://[::1]/a/b-c_d.e~f/..g', '/a/b-c_d.e~f/..g'],
])('%s is a public URL with the path prefix %j', (url, prefix) => {
  expect([isPublicUrl(url), pathPrefixOf(url)]).toEqual([true, prefix]);
});

it.each([
  '',
  'null',
  'https://*.example.com/a',
  'javascript:alert(1)',
  '/catalog',
  'https://api.example.com/catalog/',
  'https://api.example.com//catalog',
  'https://api.example.com/a//b',
  'https://api.example.com/a/../b',
  'https://api.example.com/.',
  'https://api.example.com/a b',
  'https://api.example.com/a%20b',
  'https://api.example.com/{version}',
  'https://api.example.com/a?x=1',
  'https://api.example.com/a#x',
  'https://api.example.com/a"><script>',
  String.raw`https://api.example.com\a`,
  'https://user:secret@api.example.com/a',
  'https://api.example.com:443/a',
  'https://API.example.com/a',
])('%s is no public URL', (text) => {
  expect(isPublicUrl(text)).toBe(false);
});

it('without a public URL, there is no path prefix', () => {
  expect([pathPrefixOf(undefined), pathPrefixOf('/')]).toEqual(['', '']);
});
