import { Rounds } from './rounds.js';

describe('rounds of a map', () => {
  const INTERVAL = 100;
  let entries: Map<string, number>;
  let seen: string[];
  let rounds: Rounds<number>;

  beforeEach(() => {
    entries = new Map(Array.from({ length: 1000 }, (_, index) => [String(index), index]));
    seen = [];
    rounds = new Rounds(entries, INTERVAL, (key, value) => {
      seen.push(key);
      // Some go, and one comes back.
      if (value % 2 === 0) entries.delete(key);
      if (key === '500') entries.set('500', 501);
    });
  });

  function steps(count: number, now: number): boolean[] {
    return Array.from({ length: count }, () => rounds.step(now));
  }

  it('look at some entries at each step, and at all in one round, whatever comes and goes meanwhile', () => {
    expect(steps(2, 0)).toEqual([true, false]);
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.length).toBeLessThan(200);
    entries.set('new', 1);
    steps(1000, INTERVAL - 1);
    const all = Array.from({ length: 1000 }, (_, index) => String(index));
    expect(seen).toEqual([...all, 'new', '500']);
  });

  it('begin again an interval later, with what there is then', () => {
    expect(steps(1000, 0).filter(Boolean)).toEqual([true]);
    const left = [...entries.keys()];
    seen.length = 0;
    expect(steps(1000, INTERVAL).filter(Boolean)).toEqual([true]);
    expect(seen).toEqual(left);
  });

  it('begin again when they end, if they took longer', () => {
    steps(1, 0);
    expect(steps(1000, 10 * INTERVAL).filter(Boolean)).toEqual([true]);
  });
});
