import { amongDoubles, amongInts } from './numbers.js';

describe('a number lies', () => {
  it.each<[number | bigint, bigint, boolean]>([
    [0n, 0n, true],
    [-5n, -5n, true],
    [9_007_199_254_740_993n, 9_007_199_254_740_993n, true],
    [2n ** 63n - 1n, 2n ** 63n - 1n, true],
    [-(2n ** 63n), -(2n ** 63n), true],
    [2n ** 64n - 1n, 2n ** 63n - 1n, false],
    [2.5, 2n, false],
    [-2.5, -3n, false],
    [-0, 0n, true],
    [5e-324, 0n, false],
    [-5e-324, -1n, false],
    [3, 3n, true],
    [2 ** 62, 2n ** 62n, true],
    [2 ** 63, 2n ** 63n - 1n, false],
    [-(2 ** 63), -(2n ** 63n), true],
    [1.7e308, 2n ** 63n - 1n, false],
    [-1.7e308, -(2n ** 63n), false],
  ])('%s among whole numbers', (number, floor, exact) => {
    expect(amongInts(number)).toEqual({ floor, exact });
  });

  it.each<[number | bigint, number, boolean]>([
    [0n, 0, true],
    [1.5, 1.5, true],
    [5e-324, 5e-324, true],
    [2n ** 53n, 2 ** 53, true],
    [2n ** 53n + 1n, 2 ** 53, false],
    [2n ** 53n + 3n, 2 ** 53 + 2, false],
    [-(2n ** 53n) - 1n, -(2 ** 53) - 2, false],
    [-(2n ** 53n) - 3n, -(2 ** 53) - 4, false],
    [2n ** 63n - 1n, 2 ** 63 - 1024, false],
    [-(2n ** 63n), -(2 ** 63), true],
    [-(2n ** 63n) + 1n, -(2 ** 63), false],
    [2n ** 64n - 1n, 2 ** 64 - 2048, false],
  ])('%s among doubles', (number, floor, exact) => {
    expect(amongDoubles(number)).toEqual({ floor, exact });
  });
});
