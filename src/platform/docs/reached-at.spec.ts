import { reachedAt } from './reached-at.js';

it.each([
  ['http', 'localhost:3000', 'http://localhost:3000'],
  ['https', 'items.example.com', 'https://items.example.com'],
  ['http', '[::1]:3000', 'http://[::1]:3000'],
  ['http', 'a b', 'http://localhost'],
  ['http', 'x"><script>', 'http://localhost'],
  ['http', 'x\ny', 'http://localhost'],
  ['javascript', 'x', 'http://x'],
])('tells of %s and %s the origin %s', (protocol, host, origin) => {
  expect(reachedAt({ protocol, host })).toBe(origin);
});

it('does without a Host header, as in HTTP/1.0', () => {
  expect(reachedAt({ protocol: 'http' })).toBe('http://localhost');
});
