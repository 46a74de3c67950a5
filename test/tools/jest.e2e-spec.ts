import { createRequire } from 'node:module';
import { expect as imported, it as test } from '@jest/globals';

/** A package that is loaded once for several test files, such as `@golevelup/ts-jest` and `jest-mock-extended`. */
const requireAsPackage = createRequire(import.meta.resolve('jest-mock'));

test('packages that make mocks, and tests, import everything of @jest/globals', () => {
  const { jest: theirs } = requireAsPackage('@jest/globals') as { jest: typeof jest };
  const mock = theirs.fn(() => 1);
  expect(mock()).toBe(1);
  imported(mock).toHaveBeenCalledTimes(1);
  imported([1]).toEqual([imported.any(Number)]);
});

test.each([[1], [2]])('a table of tests, too: %i', (row) => {
  imported(row).toBeGreaterThan(0);
});
