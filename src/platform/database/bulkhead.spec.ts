import { setImmediate as turn } from 'node:timers/promises';
import { Bulkhead } from './bulkhead.js';

const refuse = () => new Error('full');

/** Tasks that end when they are told to. @param owners - of each */
function tasks(bulkhead: Bulkhead, owners: string, signal?: AbortSignal) {
  const started: number[] = [];
  const ends: (() => void)[] = [];
  const results = Array.from(owners, (owner, number) => {
    const task = async () => {
      started.push(number);
      await new Promise<void>((resolve) => (ends[number] = resolve));
      return number;
    };
    return bulkhead.run(owner, task, signal, refuse);
  });
  return { started, ends, results };
}

const limits = { total: 2, perOwner: 2, wait: 60_000 };

describe('a bulkhead', () => {
  it('lets so many work at once, and the next ones in their order', async () => {
    const { started, ends, results } = tasks(new Bulkhead(limits), 'aaaaa');
    await turn();
    expect(started).toEqual([0, 1]);
    ends[1]?.();
    await turn();
    expect(started).toEqual([0, 1, 2]);
    ends[0]?.();
    ends[2]?.();
    await turn();
    expect(started).toEqual([0, 1, 2, 3, 4]);
    ends[3]?.();
    ends[4]?.();
    expect(await Promise.all(results)).toEqual([0, 1, 2, 3, 4]);
  });

  it('refuses who had to wait too long, and keeps no place for them', async () => {
    const bulkhead = new Bulkhead({ total: 1, perOwner: 1, wait: 20 });
    const { ends, results } = tasks(bulkhead, 'aa');
    await expect(results[1]).rejects.toThrow('full');
    ends[0]?.();
    expect(await results[0]).toBe(0);
    expect(await bulkhead.run('a', () => Promise.resolve('next'), undefined, refuse)).toBe('next');
    expect([bulkhead.running, bulkhead.queued]).toEqual([0, 0]);
  });

  it('goes on after a task that failed', async () => {
    const bulkhead = new Bulkhead({ ...limits, total: 1 });
    const failing = bulkhead.run('a', () => Promise.reject(new Error('broken')), undefined, refuse);
    const next = bulkhead.run('a', () => Promise.resolve('next'), undefined, refuse);
    await expect(failing).rejects.toThrow('broken');
    expect(await next).toBe('next');
  });

  it('runs so many tasks of one owner, and starts those of others before more of them', async () => {
    const { started, ends } = tasks(new Bulkhead({ ...limits, total: 3 }), 'aaaab');
    await turn();
    expect(started).toEqual([0, 1, 4]);
    for (const number of [0, 1]) {
      ends[number]?.();
      await turn();
    }
    expect(started).toEqual([0, 1, 4, 2, 3]);
  });

  it('gives owners that wait a turn each', async () => {
    const { started, ends } = tasks(new Bulkhead({ ...limits, total: 1 }), 'aaaabbc');
    for (let task = 0; task < 7; task += 1) {
      await turn();
      ends[started.at(-1) ?? 0]?.();
    }
    expect(started).toEqual([0, 1, 4, 6, 2, 5, 3]);
  });

  it('drops waiting tasks when they are aborted', async () => {
    const bulkhead = new Bulkhead({ ...limits, total: 1 });
    const running = tasks(bulkhead, 'a');
    const controller = new AbortController();
    const { started, results } = tasks(bulkhead, 'ab', controller.signal);
    const outcomes = Promise.allSettled(results);
    await turn();
    controller.abort(new Error('gone'));
    expect(await outcomes).toEqual([
      expect.objectContaining({ status: 'rejected' }),
      expect.objectContaining({ status: 'rejected' }),
    ]);
    expect([bulkhead.running, bulkhead.queued]).toEqual([1, 0]);
    running.ends[0]?.();
    await turn();
    expect([bulkhead.running, started]).toEqual([0, []]);
  });
});
