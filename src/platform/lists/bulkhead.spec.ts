import { setImmediate as turn } from 'node:timers/promises';
import { Bulkhead } from './bulkhead.js';

const refuse = () => new Error('full');

/** Tasks that end when they are told to. */
function tasks(bulkhead: Bulkhead, count: number) {
  const started: number[] = [];
  const ends: (() => void)[] = [];
  const results = Array.from({ length: count }, (_, number) =>
    bulkhead.run(async () => {
      started.push(number);
      await new Promise<void>((resolve) => (ends[number] = resolve));
      return number;
    }, refuse),
  );
  return { started, ends, results };
}

describe('a bulkhead', () => {
  it('lets so many work at once, and the next ones in their order', async () => {
    const { started, ends, results } = tasks(new Bulkhead(2, 60_000), 5);
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
    const bulkhead = new Bulkhead(1, 20);
    const { ends, results } = tasks(bulkhead, 2);
    await expect(results[1]).rejects.toThrow('full');
    ends[0]?.();
    expect(await results[0]).toBe(0);
    expect(await bulkhead.run(() => Promise.resolve('next'), refuse)).toBe('next');
  });

  it('goes on after a task that failed', async () => {
    const bulkhead = new Bulkhead(1, 60_000);
    const failing = bulkhead.run(() => Promise.reject(new Error('broken')), refuse);
    const next = bulkhead.run(() => Promise.resolve('next'), refuse);
    await expect(failing).rejects.toThrow('broken');
    expect(await next).toBe('next');
  });
});
