import { parseRedisUrl } from './redis-url.js';

const ONE = { kind: 'single', tls: false, options: {} };

const node = (port: number, index: number) => ({ host: 'ab'[index], port });

it.each([
  ['redis://cache', { ...ONE, nodes: [{ host: 'cache', port: 6379 }] }],
  ['redis://[::1]:7000/3', { ...ONE, nodes: [{ host: '::1', port: 7000 }], options: { db: '3' } }],
  [
    'rediss://me:p%40ss%3A@cache:1/',
    { ...ONE, nodes: [{ host: 'cache', port: 1 }], tls: true, options: { username: 'me', password: 'p@ss:' } },
  ],
  ['redis://:secret@cache', { ...ONE, nodes: [{ host: 'cache', port: 6379 }], options: { password: 'secret' } }],
  [
    'redis+sentinel://:master@a,b:5/main/2?sentinelPassword=other',
    {
      kind: 'sentinel',
      tls: false,
      nodes: [26_379, 5].map(node),
      options: { password: 'master', sentinelPassword: 'other', name: 'main', db: '2' },
    },
  ],
  ['redis+sentinel://a,b:5/main', { kind: 'sentinel', tls: false, nodes: [26_379, 5].map(node), options: { name: 'main' } }],
  [
    'redis+sentinel://a,b:5/main/15',
    { kind: 'sentinel', tls: false, nodes: [26_379, 5].map(node), options: { name: 'main', db: '15' } },
  ],
  ['redis+cluster://a:1,b/', { kind: 'cluster', nodes: [1, 6379].map(node), tls: false, options: {} }],
  ['rediss+cluster://a:1,b', { kind: 'cluster', nodes: [1, 6379].map(node), tls: true, options: {} }],
])('reads %s', (text, expected) => {
  expect(parseRedisUrl(text)).toEqual(expected);
});

it.each([
  ['no URL', ['', 'cache:6379', 'http://cache', 'redis://', 'xredis://cache', 'redis://cache/0\n']],
  [
    'a wrong node',
    [
      'redis://a,b',
      'redis://cache:port',
      'redis://cache:',
      'redis://cache:0',
      'redis://cache:65536',
      'redis+cluster://a,/0',
    ],
  ],
  [
    'a wrong path',
    [
      'redis://cache/name',
      'redis://ca%20che',
      'redis://ca*che',
      'redis+sentinel://a',
      'redis+sentinel://a/',
      'redis+sentinel://a//main',
      'redis+sentinel://a/main/0/1',
      'redis+cluster://a/1',
    ],
  ],
  ['wrong credentials', ['redis://user@cache', 'redis://:100%@cache', 'redis://cache?sentinelPassword=x']],
])('refuses %s', (_name, texts) => {
  expect(texts.map(parseRedisUrl)).toEqual(texts.map(() => undefined));
});
