import { SlidingWindow } from './sliding-window.js';

describe('a sliding window', () => {
  let now = 0;
  const window = (limit: number, length: number) => new SlidingWindow(limit, length, () => now);

  beforeEach(() => {
    now = 1000;
  });

  it('admits the limit, then refuses, and tells when the oldest call leaves', () => {
    const calls = window(3, 100);
    expect(calls.hit('a')).toEqual({ admitted: true, remaining: 2, freeIn: 100 });
    now += 30;
    expect(calls.hit('a')).toEqual({ admitted: true, remaining: 1, freeIn: 70 });
    expect(calls.hit('a')).toEqual({ admitted: true, remaining: 0, freeIn: 70 });
    expect(calls.hit('a')).toEqual({ admitted: false, remaining: 0, freeIn: 70 });
    now += 69;
    expect(calls.hit('a')).toEqual({ admitted: false, remaining: 0, freeIn: 1 });
    now += 1;
    expect(calls.hit('a')).toEqual({ admitted: true, remaining: 0, freeIn: 30 });
    expect(calls.hit('a').admitted).toBe(false);
  });

  it('counts each key by itself', () => {
    const calls = window(1, 100);
    expect([calls.hit('a').admitted, calls.hit('b').admitted, calls.hit('a').admitted]).toEqual([true, true, false]);
  });

  it('forgets keys that were silent for a whole window', () => {
    const calls = window(5, 100);
    for (let index = 0; index < 1000; index += 1) calls.hit(String(index));
    expect(calls.size).toBe(1000);
    now += 50;
    calls.hit('500');
    now += 50;
    calls.hit('new');
    expect(calls.size).toBe(2);
  });

  it.each([1, 7, 8, 9, 100])('agrees with a list of times at a limit of %d', (limit) => {
    const length = 50;
    const calls = window(limit, length);
    let times: number[] = [];
    // A linear congruential generator: the same steps on every run.
    let seed = limit;
    for (let step = 0; step < 5000; step += 1) {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      now += seed % 7 === 0 ? (seed % 40) / 4 : 0;
      times = times.filter((time) => time + length > now);
      const admitted = times.length < limit;
      if (admitted) times.push(now);
      expect(calls.hit('a')).toEqual({ admitted, remaining: limit - times.length, freeIn: (times[0] ?? 0) + length - now });
    }
  });
});
