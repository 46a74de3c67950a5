import { setImmediate as turn } from 'node:timers/promises';
import { Bulkhead } from './bulkhead.js';

/** Tasks that end when `ends` is called. @param keys - one character for each task */
function tasks(bulkhead: Bulkhead, keys: string) {
  const started: number[] = [];
  const ends: (() => void)[] = [];
  const results = Array.from(keys, (key, number) => {
    const task = async () => {
      started.push(number);
      await new Promise<void>((resolve) => (ends[number] = resolve));
      return number;
    };
    return bulkhead.run(key, task, () => new Error('full'));
  });
  return { started, ends, results };
}

describe('a bulkhead', () => {
  it.each([
    ['so many tasks at once, and the next ones in their order', { total: 2, most: 2 }, 'aaaaa', 2, [0, 1, 2, 3, 4]],
    ['so many of one key, and those of others before more of them', { total: 3, most: 2 }, 'aaaab', 3, [0, 1, 4, 2, 3]],
    ['those of keys that wait in turns', { total: 1, most: 2 }, 'aaaabbc', 1, [0, 1, 4, 6, 2, 5, 3]],
  ])('runs %s', async (_name, { total, most }, keys, atOnce, order) => {
    const { started, ends, results } = tasks(new Bulkhead({ total, perKey: most, wait: 60_000 }), keys);
    for (let ended = 0; ended < keys.length; ended += 1) {
      await turn();
      expect(started).toHaveLength(Math.min(ended + atOnce, keys.length));
      ends[started[ended] ?? 0]?.();
    }
    expect(await Promise.all(results)).toEqual(order.toSorted());
    expect(started).toEqual(order);
  });

  it('refuses tasks that waited too long, and gives their slots to others, as those of tasks that failed', async () => {
    const bulkhead = new Bulkhead({ total: 2, perKey: 1, wait: 20 });
    const { started, ends, results } = tasks(bulkhead, 'aaab');
    expect(await Promise.allSettled(results.slice(1, 3))).toMatchObject([1, 2].map(() => ({ reason: new Error('full') })));
    expect([started, bulkhead.running, bulkhead.queued, bulkhead.pendingOf('a')]).toEqual([[0, 3], 2, 0, 1]);
    for (const end of Object.values(ends)) end();
    await Promise.all([results[0], results[3]]);
    const run = (task: () => Promise<string>) => bulkhead.run('a', task, () => new Error('full'));
    const outcomes = [run(() => Promise.reject(new Error('broken'))), run(() => Promise.resolve('next'))];
    expect(await Promise.allSettled(outcomes)).toMatchObject([{ reason: new Error('broken') }, { value: 'next' }]);
    expect([bulkhead.running, bulkhead.queued, bulkhead.pendingOf('a')]).toEqual([0, 0, 0]);
  });

  it('starts tasks of a lower rank first, and counts those that run or wait', async () => {
    const ranks: Record<string, number> = { a: 2, b: 1, c: 0 };
    const bulkhead = new Bulkhead({ total: 1, perKey: 1, wait: 60_000, rank: (key) => ranks[key] ?? 0 });
    const { started, ends, results } = tasks(bulkhead, 'aaabbc');
    expect(['a', 'b', 'c', 'd'].map((key) => bulkhead.pendingOf(key))).toEqual([3, 2, 1, 0]);
    for (let ended = 0; ended < 6; ended += 1) {
      await turn();
      ends[started[ended] ?? 0]?.();
      // The key that has used more goes last.
      if (ended === 1) ranks['b'] = 3;
    }
    await Promise.all(results);
    expect(started).toEqual([0, 5, 1, 2, 3, 4]);
    expect(bulkhead.pendingOf('a')).toBe(0);
  });
});
