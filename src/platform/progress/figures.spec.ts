import { done, passed, share } from './figures.js';

it.each([
  [0, '0:00'],
  [999, '0:00'],
  [65_000, '1:05'],
  [3_599_999, '59:59'],
  [3_723_000, '1:02:03'],
  [-1, '0:00'],
])('%d ms have passed as %s', (milliseconds, text) => {
  expect(passed(milliseconds)).toBe(text);
});

it.each([
  [0, 3, '0 %'],
  [2, 3, '66 %'],
  [999_999, 1_000_000, '99 %'],
  [3, 3, '100 %'],
  [4, 3, '100 %'],
  [0, 0, '100 %'],
])('%d of %d is %s', (count, total, text) => {
  expect(share(count, total)).toBe(text);
});

it('tells how quickly rows are done, once there is a time to tell it by', () => {
  expect(done('rows', 20_000, 1_000_000, 500)).toBe('20,000 of 1,000,000 rows, 2 %, 40,000 a second');
  expect(done('rows', 0, 10, 5)).toBe('0 of 10 rows, 0 %');
  expect(done('rows', 1, 10, 0)).toBe('1 of 10 rows, 10 %');
});
