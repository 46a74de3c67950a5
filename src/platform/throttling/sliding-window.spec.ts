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

  it('never names a longer wait than the window', () => {
    now = 1000.01;
    expect(window(1, 60_000).hit('a').freeIn).toBe(60_000);
  });

  it('counts each key by itself', () => {
    const calls = window(1, 100);
    expect([calls.hit('a').admitted, calls.hit('b').admitted, calls.hit('a').admitted]).toEqual([true, true, false]);
  });

  it.each([
    [4, 40, 'all'],
    [4, 100, 'some'],
    [10, 100, 'all'],
    [10, 100, 'some'],
  ])(
    'keeps %i parts of a limit of %i filled, so that together they never admit more (%s hear of each call)',
    (parts, limit, who) => {
      const length = 5000;
      const own = Array.from({ length: parts }, () => window(limit / parts, length));
      const admitted: number[] = [];
      for (let count = 1; count <= limit; count += 1) {
        now += 10;
        admitted.push(now);
        const hear = own.filter((_, index) => who === 'all' || index === count % parts);
        hear.forEach((part) => part.fill('a', Math.ceil(count / parts), 0));
      }
      const latest = now;
      own.forEach((part) => part.fill('a', limit / parts, now - latest));
      for (const end = now + 2 * length; now < end; now += 1) {
        admitted.push(...own.filter((part) => part.hit('a').admitted).map(() => now));
      }
      const most = admitted.map((first) => admitted.filter((time) => time >= first && time < first + length).length);
      expect(Math.max(...most)).toBe(limit);
    },
  );

  it('forgets keys that were silent for a whole window, as calls come', () => {
    const calls = window(5, 100);
    for (let index = 0; index < 1000; index += 1) calls.hit(String(index));
    expect(calls.size).toBe(1000);
    now += 50;
    calls.hit('500');
    now += 50;
    for (let index = 0; index < 1000; index += 1) calls.hit('new');
    expect(calls.size).toBe(2);
  });

  it('never has more than the keys of two windows in memory', () => {
    const calls = window(5, 100);
    let most = 0;
    for (let index = 0; index < 50_000; index += 1) {
      now += 0.1;
      calls.hit(String(index));
      most = Math.max(most, calls.size);
    }
    expect(most).toBeLessThan(2050);
  });

  it.each([60_000, 86_400_000])('frees a slot of a window of %d ms never early, and less than 1/4 ms late', (length) => {
    const calls = window(1, length);
    for (let step = 0; step < 1000; step += 1) {
      now += (step * 7.3) % 1;
      expect(calls.hit('a').admitted).toBe(true);
      calls.hit('b');
      now += length - 0.001;
      expect(calls.hit('a').admitted).toBe(false);
      now += 0.25;
    }
  });

  it.each([2 ** 28, 2 ** 29, 2 ** 29 + 43_200_000, 2 ** 29 - 43_200_000, 2 ** 35, 100.1])(
    'is right after %d ms of silence and two windows, through which its times wrap',
    (silence) => {
      const length = 86_400_000;
      const calls = window(2, length);
      const hits = () => [calls.hit('a'), calls.hit('a'), calls.hit('a')].map(({ admitted }) => admitted);
      // So many that it comes to look at the key that matters only later.
      for (let index = 0; index < 1000; index += 1) calls.hit(String(index));
      expect(hits()).toEqual([true, true, false]);
      now += silence + 2 * length;
      expect(hits()).toEqual([true, true, false]);
      now += length - 1;
      expect(calls.hit('a')).toEqual({ admitted: false, remaining: 0, freeIn: expect.closeTo(1, 0) as number });
      now += 2;
      expect(hits()).toEqual([true, true, false]);
    },
  );

  it('is told of later calls elsewhere, and not misled by earlier ones', () => {
    const calls = window(1, 100);
    calls.hit('a');
    now += 20;
    calls.fill('a', 1, 5);
    expect(calls.hit('a').freeIn).toBe(95);
    calls.fill('a', 1, 50);
    expect(calls.hit('a').freeIn).toBe(95);
  });

  it.each([1, 14, 15, 16, 100])('agrees with a list of times at a limit of %d', (limit) => {
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
