interface BulkheadLimits {
  /** Concurrent tasks, at least 1. */
  readonly total: number;
  /** Concurrent tasks with one key, at least 1. */
  readonly perKey: number;
  /** Longest time in the queue, in milliseconds. */
  readonly wait: number;
  /** Keys of a lower rank start first. All are equal by default. */
  readonly rank?: (key: string) => number;
}

interface Tasks {
  running: number;
  /** Functions that start the queued tasks, oldest first. */
  readonly waiting: Set<() => void>;
}

/** Limits concurrent tasks, so that slow ones never use up a resource. Keys of equal rank take turns, one task each. */
export class Bulkhead {
  running = 0;
  /** Tasks by key. The keys are in the order of their turns. */
  private readonly queues = new Map<string, Tasks>();

  constructor(private readonly limits: BulkheadLimits) {}

  get queued(): number {
    return [...this.queues.values()].reduce((sum, { waiting }) => sum + waiting.size, 0);
  }

  /** Tasks of a key that run or wait. */
  pendingOf(key: string): number {
    const { running = 0, waiting } = this.queues.get(key) ?? {};
    return running + (waiting?.size ?? 0);
  }

  /** @param makeError - makes the error after too long a wait */
  async run<T>(key: string, task: () => Promise<T>, makeError: () => Error): Promise<T> {
    const tasks = this.queues.getOrInsertComputed(key, () => ({ running: 0, waiting: new Set() }));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    tasks.waiting.add(resolve);
    const timer = setTimeout(() => {
      tasks.waiting.delete(resolve);
      this.startNext();
      reject(makeError());
    }, this.limits.wait);
    this.startNext();
    await promise.finally(() => clearTimeout(timer));
    try {
      return await task();
    } finally {
      this.running -= 1;
      tasks.running -= 1;
      this.startNext();
    }
  }

  /** Starts the queued task whose turn it is: when one comes or ends, at most one can start. Removes keys without tasks. */
  private startNext(): void {
    const { total, perKey, rank = () => 0 } = this.limits;
    if (this.running >= total) return;
    for (const [key, { running, waiting }] of this.queues) {
      if (running + waiting.size === 0) this.queues.delete(key);
    }
    const startable = [...this.queues].filter(([, { running, waiting }]) => waiting.size > 0 && running < perKey);
    const ranked = startable.map(([key, tasks]) => ({ key, tasks, rank: rank(key) }));
    const [next] = ranked.toSorted((a, b) => a.rank - b.rank);
    const [start] = next?.tasks.waiting ?? [];
    if (next && start) {
      next.tasks.waiting.delete(start);
      next.tasks.running += 1;
      this.running += 1;
      // Moves the key to the end: the others have their turns first.
      this.queues.delete(next.key);
      this.queues.set(next.key, next.tasks);
      start();
    }
  }
}
