import { generateToken } from '../auth/token-format.js';
import { teller } from './tell.js';

const URLS = [
  'postgres://user:c%40nary%20one@host/database',
  'postgres://host/database?sslmode=require&password=canary-two',
  'redis+sentinel://:canary-three@host/main?sentinelPassword=canary-four',
  'mysql://user:canary five@host',
  'postgres://a:canary-six@one/x,postgres://b:canary-seven@two/x',
  'redis://:abc@host',
];

it.each([
  'c%40nary%20one',
  'c@nary one',
  'canary-two',
  'canary-three',
  'canary-four',
  'canary five',
  'canary-six',
  'canary-seven',
])('hides the password %s, wherever it stands', (secret) => {
  expect(teller(URLS)(`The server says "${secret}x${secret}".`)).toBe('The server says "***x***".');
});

it('hides the longer one first of two that begin alike', () => {
  const urls = ['redis://:canary@host', 'redis://:canarybird@host'];
  expect(teller(urls)('canarybird')).toBe('***');
});

it('hides tokens, and shows what a terminal would obey', () => {
  expect(teller([])(`${generateToken()} \u{1b}[31mred\r\u{7}\u{202e}\nnext`)).toBe('*** �[31mred���\nnext');
});

it('leaves the rest, and words that are short passwords of somebody', () => {
  expect(teller(URLS)('user abc at host: äöü')).toBe('user abc at host: äöü');
});
