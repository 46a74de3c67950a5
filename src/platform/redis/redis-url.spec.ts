import { parseRedisUrl } from './redis-url.js';

const open = { tls: false, username: undefined, password: undefined, sentinelPassword: undefined, masterName: undefined };

it.each([
  ['redis://cache', { ...open, kind: 'single', nodes: [{ host: 'cache', port: 6379 }], database: 0 }],
  ['redis://[::1]:7000/3', { ...open, kind: 'single', nodes: [{ host: '::1', port: 7000 }], database: 3 }],
  [
    'rediss://me:p%40ss%3A@cache:1/',
    { ...open, kind: 'single', nodes: [{ host: 'cache', port: 1 }], tls: true, username: 'me', password: 'p@ss:', database: 0 },
  ],
  ['redis://:secret@cache', { ...open, kind: 'single', nodes: [{ host: 'cache', port: 6379 }], password: 'secret', database: 0 }],
  [
    'redis+sentinel://:master@a,b:5/main/2?sentinelPassword=other',
    {
      ...open,
      kind: 'sentinel',
      nodes: [
        { host: 'a', port: 26_379 },
        { host: 'b', port: 5 },
      ],
      password: 'master',
      sentinelPassword: 'other',
      masterName: 'main',
      database: 2,
    },
  ],
  [
    'rediss+cluster://a:1,b',
    {
      ...open,
      kind: 'cluster',
      nodes: [
        { host: 'a', port: 1 },
        { host: 'b', port: 6379 },
      ],
      tls: true,
      database: 0,
    },
  ],
])('reads %s', (text, expected) => {
  expect(parseRedisUrl(text)).toEqual(expected);
});

it.each([
  '',
  'cache:6379',
  'http://cache',
  'redis://',
  'redis://a,b',
  'redis://cache/name',
  'redis://cache:port',
  'redis://cache:0',
  'redis://cache:65536',
  'redis://user@cache',
  'redis://:100%@cache',
  'redis://cache?sentinelPassword=x',
  'redis+sentinel://a',
  'redis+sentinel://a/',
  'redis+cluster://a,/0',
  'redis+cluster://a/1',
])('refuses %s', (text) => {
  expect(parseRedisUrl(text)).toBeUndefined();
});
