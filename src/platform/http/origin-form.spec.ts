import { originForm } from './origin-form.js';

describe('a request target', () => {
  it.each([
    ['/v1/items?limit=1', '/v1/items?limit=1'],
    ['/a?b?c=%zz', '/a?b?c=%zz'],
    ['/%C3%A9', '/%C3%A9'],
    ['http://host:80/v1/items?x', '/v1/items?x'],
    ['http://host', '/'],
    ['http://host?x=1', '/?x=1'],
    ['http://[::1', '/'],
    ['http://x:abc/v1', '/v1'],
    ['*', '/*'],
    ['', '/'],
    ['?x', '/?x'],
    ['/%zz', '/%25zz'],
    ['/%ff/%41', '/%25ff/%2541'],
    ['//host/path', '//host/path'],
  ])('%s is %s', (target, expected) => {
    expect(originForm(target)).toBe(expected);
  });
});
