import { setImmediate as turn } from 'node:timers/promises';
import { Bulkhead } from './bulkhead.js';

const refuse = () => new Error('full');

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
    return bulkhead.run(key, task, refuse);
  });
  return { started, ends, results };
}

const limits = { total: 1, perKey: () => 1, wait: 60_000 };

describe('a bulkhead', () => {
  it.each([
    ['so many tasks at once, and the next ones in their order', { total: 2, most: 2 }, 'aaaaa', 2, [0, 1, 2, 3, 4]],
    ['so many of one key, and those of others before more of them', { total: 3, most: 2 }, 'aaaab', 3, [0, 1, 4, 2, 3]],
    ['those of keys that wait in turns', { total: 1, most: 2 }, 'aaaabbc', 1, [0, 1, 4, 6, 2, 5, 3]],
  ])('runs %s', async (_name, { total, most }, keys, atOnce, order) => {
    const { started, ends, results } = tasks(new Bulkhead({ ...limits, total, perKey: () => most }), keys);
    for (let ended = 0; ended < keys.length; ended += 1) {
      await turn();
      expect(started).toHaveLength(Math.min(ended + atOnce, keys.length));
      ends[started[ended] ?? 0]?.();
    }
    expect(await Promise.all(results)).toEqual(order.toSorted());
    expect(started).toEqual(order);
  });

  it('refuses a task that waited too long, and frees its slot', async () => {
    const bulkhead = new Bulkhead({ ...limits, wait: 20 });
    const { ends, results } = tasks(bulkhead, 'aa');
    await expect(results[1]).rejects.toThrow('full');
    ends[0]?.();
    expect(await results[0]).toBe(0);
    expect(await bulkhead.run('a', () => Promise.resolve('next'), refuse)).toBe('next');
    expect([bulkhead.running, bulkhead.queued]).toEqual([0, 0]);
  });

  it('starts more tasks when the limit of a key grows', async () => {
    let most = 1;
    const { started, ends } = tasks(new Bulkhead({ ...limits, total: Infinity, perKey: () => most }), 'aaaa');
    await turn();
    expect(started).toEqual([0]);
    most = 3;
    ends[0]?.();
    await turn();
    expect(started).toEqual([0, 1, 2, 3]);
  });
});
