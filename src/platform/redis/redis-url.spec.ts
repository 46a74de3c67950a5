import { parseRedisUrl } from './redis-url.js';

const ONE = { kind: 'single', tls: false, database: 0 };

it.each([
  ['redis://cache', { ...ONE, nodes: [{ host: 'cache', port: 6379 }], username: undefined, password: undefined }],
  ['redis://[::1]:7000/3', { ...ONE, nodes: [{ host: '::1', port: 7000 }], database: 3 }],
  [
    'rediss://me:p%40ss%3A@cache:1/',
    { ...ONE, nodes: [{ host: 'cache', port: 1 }], tls: true, username: 'me', password: 'p@ss:' },
  ],
  ['redis://:secret@cache', { ...ONE, username: undefined, password: 'secret', sentinelPassword: undefined }],
  [
    'redis+sentinel://:master@a,b:5/main/2?sentinelPassword=other',
    { kind: 'sentinel', password: 'master', sentinelPassword: 'other', masterName: 'main', database: 2 },
  ],
  ['redis+sentinel://a,b:5/main', { nodes: [26_379, 5].map((port, index) => ({ host: 'ab'[index], port })), database: 0 }],
  [
    'rediss+cluster://a:1,b',
    { kind: 'cluster', nodes: [1, 6379].map((port, index) => ({ host: 'ab'[index], port })), tls: true },
  ],
])('reads %s', (text, expected) => {
  expect(parseRedisUrl(text)).toMatchObject(expected);
});

it.each([
  ['no URL', ['', 'cache:6379', 'http://cache', 'redis://']],
  ['a wrong node', ['redis://a,b', 'redis://cache:port', 'redis://cache:0', 'redis://cache:65536', 'redis+cluster://a,/0']],
  ['a wrong path', ['redis://cache/name', 'redis+sentinel://a', 'redis+sentinel://a/', 'redis+cluster://a/1']],
  ['wrong credentials', ['redis://user@cache', 'redis://:100%@cache', 'redis://cache?sentinelPassword=x']],
])('refuses %s', (_name, texts) => {
  expect(texts.map(parseRedisUrl)).toEqual(texts.map(() => undefined));
});
