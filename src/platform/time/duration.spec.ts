import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { dateIn, parseDuration, withTimeout } from './duration.js';

it.each([
  ['90d', 7_776_000_000],
  ['24h', 86_400_000],
  ['15m', 900_000],
  ['0h', 0],
  ['999999d', 86_399_913_600_000],
])('%s is %i ms', (text, milliseconds) => {
  expect(parseDuration(text)).toBe(milliseconds);
});

it.each(['', '90', 'd', '-1d', '1.5h', '01d', '1w', '1d1h', '1dh', ' 1d', '1d ', '9999999d', '1D', '１d'])(
  '"%s" is not a duration',
  (text) => {
    expect(parseDuration(text)).toBeUndefined();
  },
);

it('a date is so many milliseconds from now, or never', () => {
  jest.useFakeTimers({ now: 1_767_225_600_000 });
  expect(dateIn(90)).toEqual(new Date(1_767_225_600_090));
  expect(dateIn(Infinity)).toBeNull();
  jest.useRealTimers();
});

describe('within a time', () => {
  it('a promise gives what it gives', async () => {
    await expect(withTimeout(60_000, Promise.resolve('result'))).resolves.toBe('result');
    await expect(withTimeout(60_000, Promise.reject(new Error('It failed.')))).rejects.toThrow('It failed.');
  });

  it('a promise that takes longer fails', async () => {
    await expect(withTimeout(10.4, new Promise(() => undefined))).rejects.toThrow('No response within 10 ms.');
  });

  it('a result counts that arrived while the process was busy', async () => {
    const result = withTimeout(10, delay(5, 'result'));
    const end = performance.now() + 50;
    while (performance.now() < end);
    await expect(result).resolves.toBe('result');
  });

  it('no timer is left when the promise is settled', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
    await withTimeout(60_000, Promise.resolve());
    await withTimeout(60_000, Promise.reject(new Error('It failed.'))).catch(() => undefined);
    await Promise.resolve();
    expect(jest.getTimerCount()).toBe(0);
    jest.useRealTimers();
  });
});
