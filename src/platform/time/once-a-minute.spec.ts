import { jest } from '@jest/globals';
import { onceAMinute } from './once-a-minute.js';

// Not before the cache is loaded, which keeps the clock that it finds, also for the test files behind this one.
beforeAll(() => {
  jest.useFakeTimers();
  // A process never asks at 0.
  jest.advanceTimersByTime(1);
});

afterAll(() => jest.useRealTimers());

it('is new once a minute for each key, however often it is seen in between', () => {
  const isNew = onceAMinute(10);
  expect([isNew('a'), isNew('a'), isNew('b')]).toEqual([true, false, true]);
  jest.advanceTimersByTime(59_999);
  expect(isNew('a')).toBe(false);
  jest.advanceTimersByTime(2);
  expect([isNew('a'), isNew('a')]).toEqual([true, false]);
});

it('remembers as many keys as it may, those used last', () => {
  const isNew = onceAMinute(2);
  expect(['a', 'b', 'c', 'c', 'b', 'a'].map(isNew)).toEqual([true, true, true, false, false, true]);
});
