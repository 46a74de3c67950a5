import { parseDuration } from './duration.js';

it.each([
  ['90d', 7_776_000_000],
  ['24h', 86_400_000],
  ['15m', 900_000],
  ['0h', 0],
])('%s is %i ms', (text, milliseconds) => {
  expect(parseDuration(text)).toBe(milliseconds);
});

it.each(['', '90', 'd', '-1d', '1.5h', '01d', '1w', ' 1d', '1d ', '9999999d', '1D', '１d'])('"%s" is not a duration', (text) => {
  expect(parseDuration(text)).toBeUndefined();
});
