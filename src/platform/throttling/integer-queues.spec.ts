import { IntegerQueues, Queue } from './integer-queues.js';

describe('integer queues', () => {
  const CHUNK_BYTES = 4 * 2 ** 16;
  let queues: IntegerQueues;

  beforeEach(() => {
    queues = new IntegerQueues();
  });

  function filled(count: number): Queue {
    const queue = new Queue();
    for (let integer = 1; integer <= count; integer += 1) queues.push(queue, integer);
    return queue;
  }

  function shiftAll(queue: Queue): number[] {
    const integers = [];
    while (queue.length > 0) {
      integers.push(queue.head);
      queues.shift(queue);
    }
    return integers;
  }

  it('agree with arrays, whatever is pushed to and shifted from which', () => {
    const pairs = Array.from({ length: 50 }, () => ({ queue: new Queue(), array: [] as number[] }));
    const seen: number[] = [];
    const expected: unknown[] = [];
    // A linear congruential generator: the same steps on every run.
    let seed = 1;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return (seed >> 8) % below;
    };
    for (let step = 0; step < 2000; step += 1) {
      const { queue, array } = pairs[random(50)] ?? { queue: new Queue(), array: [] };
      for (let count = random(40); count > 0; count -= 1) {
        const integer = random(2 ** 23) * (step % 2 === 0 ? 256 : -256);
        queues.push(queue, integer);
        array.push(integer);
      }
      if (queue.length > 0) {
        queues.replaceLast(queue, step);
        array[array.length - 1] = step;
      }
      for (let count = random(42); count > 0 && queue.length > 0; count -= 1) {
        seen.push(queue.head);
        expected.push(array.shift());
        queues.shift(queue);
      }
    }
    expect(seen).toEqual(expected);
    expect(pairs.map(({ queue }) => shiftAll(queue))).toEqual(pairs.map(({ array }) => array));
  });

  it('take as much memory again as they had, and no more', () => {
    for (let round = 0; round < 10; round += 1) {
      const queue = filled(500_000);
      expect(queues.size).toBe(9 * CHUNK_BYTES);
      expect(shiftAll(queue)).toHaveLength(500_000);
    }
  });

  it('give memory back when those that stay have gone on', () => {
    const many = Array.from({ length: 10_000 }, () => filled(20));
    const stays = filled(20);
    many.forEach(shiftAll);
    for (let integer = 0; integer < 40; integer += 1) {
      queues.push(stays, integer);
      queues.shift(stays);
    }
    queues.trim();
    expect(queues.size).toBe(CHUNK_BYTES);
    expect(shiftAll(stays)).toEqual(Array.from({ length: 20 }, (_, index) => 20 + index));
    queues.trim();
    expect(queues.size).toBe(0);
    expect(shiftAll(filled(40))).toHaveLength(40);
  });
});
