import { isNewEnough } from './redis-info.js';
import { judgeTimes } from './script.js';

it.each([
  ['6.2.0', true],
  ['6.2', true],
  ['7.0.15', true],
  ['10.0.0', true],
  ['6.0.20', false],
  ['5.9.9', false],
  ['', false],
])('Redis %s is new enough: %s', (version, expected) => {
  expect(isNewEnough(version)).toBe(expected);
});

it.each([
  [[1, 2, 3], 'ok', '2.0 ms (median of 3, at most 3.0) of 50'],
  [[1, 25, 90], 'ok', '25.0 ms'],
  [[1, 26, 26], 'warning', '26.0 ms'],
  [[1, 51, 60], 'failed', '51.0 ms'],
])('calls of %j ms are %s', (times, status, text) => {
  expect(judgeTimes(times)).toMatchObject({ status, found: expect.stringContaining(text) });
});
