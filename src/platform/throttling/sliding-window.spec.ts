import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { SlidingWindow } from './sliding-window.js';

let now = 0;
const window = (length: number) => new SlidingWindow(length, () => now);

beforeEach(() => {
  now = 1000;
});

it('never takes longer than its length to free a slot, at any fraction of a millisecond', () => {
  const calls = window(60_000);
  for (let index = 0; index < 1000; index += 1) {
    now += 1000 * Math.PI;
    expect(calls.hit(String(index), 1).freeIn).toBe(60_000);
  }
});

it('counts calls that were admitted elsewhere, beyond the limit, and frees a slot when enough have left', () => {
  const calls = window(100);
  for (let count = 0; count < 5; count += 1) {
    calls.hit('a', Infinity);
    now += 10;
  }
  // At 1050, with calls at 1000, 1010, … 1040: the fourth must leave.
  expect(calls.hit('a', 2)).toEqual({ admitted: false, remaining: 0, freeIn: 80 });
  calls.remove('a', 1010);
  expect(calls.hit('a', 2)).toEqual({ admitted: false, remaining: 0, freeIn: 80 });
  calls.remove('a', 1040);
  expect(calls.hit('a', 2)).toEqual({ admitted: false, remaining: 0, freeIn: 70 });
  now += 70;
  expect(calls.hit('a', 2)).toEqual({ admitted: true, remaining: 0, freeIn: 10 });
});

it('removes no other call than the given one, also when that has left the window', () => {
  const calls = window(100);
  for (let count = 0; count < 3; count += 1) {
    calls.hit('a', Infinity);
    now += 40;
  }
  // At 1120, with calls at 1000, which has left, 1040 and 1080.
  calls.remove('a', 1000);
  calls.remove('a', 1001);
  expect(calls.hit('a', 2)).toMatchObject({ admitted: false, freeIn: 20 });
});

it('removes the oldest call that is in the window', () => {
  const calls = window(100);
  for (let count = 0; count < 3; count += 1) {
    calls.hit('a', Infinity);
    now += 40;
  }
  // At 1120, with calls at 1000, which has left, 1040 and 1080.
  calls.remove('a', 1040);
  expect(calls.hit('a', 2)).toEqual({ admitted: true, remaining: 0, freeIn: 60 });
});

it('counts the calls of a key in the window, however many others there are', () => {
  const calls = window(100);
  calls.hit('a', 1);
  for (let index = 0; index < 99; index += 1) {
    now += 1;
    calls.hit(String(index), 1);
  }
  expect(calls.hit('a', 1)).toEqual({ admitted: false, remaining: 0, freeIn: 1 });
  now += 1;
  expect(calls.hit('a', 1)).toEqual({ admitted: true, remaining: 0, freeIn: 100 });
});

it('uses a monotonic clock by default', () => {
  const calls = new SlidingWindow(60_000);
  expect(calls.hit('a', 1)).toEqual({ admitted: true, remaining: 0, freeIn: 60_000 });
  const { admitted, freeIn } = calls.hit('a', 1);
  expect(admitted).toBe(false);
  expect(freeIn).toBeGreaterThan(0);
  expect(freeIn).toBeLessThanOrEqual(60_000);
});

it('knows each key once', () => {
  const calls = window(100);
  for (const key of ['a', 'b', 'a']) calls.hit(key, 5);
  expect(calls.size).toBe(2);
  now += 100;
  calls.hit('a', 5);
  expect(calls.size).toBe(2);
});

it('forgets the calls of a key that is never idle', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const calls = window(100);
  const call = (count: number) => {
    for (let index = 0; index < count; index += 1) {
      now += 1;
      calls.hit('a', 200);
    }
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = call(1000);
  // Eight bytes for each, if they were kept.
  expect(call(500_000) - before).toBeLessThan(2_000_000);
});

it('keeps the keys of at most two windows, and none after a pause', () => {
  const calls = window(100);
  let most = 0;
  for (let index = 0; index < 10_000; index += 1) {
    now += 0.1;
    calls.hit(String(index), 5);
    most = Math.max(most, calls.size);
  }
  expect(most).toBeLessThan(2050);
  now += 200;
  calls.hit('new', 5);
  expect(calls.size).toBe(1);
});

it.each([1, 15, 100])('agrees with a list of times at a limit of %d', (limit) => {
  const length = 50;
  const calls = window(length);
  let times: number[] = [];
  // A linear congruential generator: the same steps on every run.
  let seed = limit;
  for (let step = 0; step < 1000; step += 1) {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    now += seed % 7 === 0 ? (seed % 40) / 4 : 0;
    times = times.filter((time) => time + length > now);
    const admitted = times.length < limit;
    if (admitted) times.push(now);
    expect(calls.hit('a', limit)).toEqual({
      admitted,
      remaining: limit - times.length,
      freeIn: (times[0] ?? 0) + length - now,
    });
  }
});
