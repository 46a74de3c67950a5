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
  readonly key: string;
  running: number;
  /** Functions that start the queued tasks, oldest first. */
  readonly waiting: Set<() => void>;
}

/** Limits concurrent tasks, so that slow ones never use up a resource. Keys of equal rank take turns, one task each. */
export class Bulkhead {
  running = 0;
  /** By key, in the order of their turns. */
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

  get isFree(): boolean {
    return this.running < this.limits.total;
  }

  /** @param makeError - makes the error after too long a wait */
  async run<T>(key: string, task: () => Promise<T>, makeError: () => Error): Promise<T> {
    const tasks = this.queues.getOrInsertComputed(key, () => ({ key, running: 0, waiting: new Set() }));
    await this.turn(tasks, makeError);
    try {
      return await task();
    } finally {
      this.running -= 1;
      tasks.running -= 1;
      this.startNext(tasks);
    }
  }

  private async turn(tasks: Tasks, makeError: () => Error): Promise<void> {
    if (tasks.waiting.size === 0 && this.acquireSlot(tasks)) {
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      tasks.waiting.delete(resolve);
      this.startNext(tasks);
      reject(makeError());
    }, this.limits.wait);
    tasks.waiting.add(resolve);
    await promise.finally(() => clearTimeout(timer));
  }

  /** Counts a task as running, if a slot is free. */
  private acquireSlot(tasks: Tasks): boolean {
    const isFree = this.isFree && tasks.running < this.limits.perKey;
    if (isFree) {
      this.running += 1;
      tasks.running += 1;
    }
    return isFree;
  }

  /** Removes a key without tasks, and starts queued tasks while slots are free. */
  private startNext(changed: Tasks): void {
    if (changed.waiting.size === 0 && changed.running === 0) {
      this.queues.delete(changed.key);
    }
    if (!this.isFree) {
      return;
    }
    const turns = this.ranked();
    for (const tasks of turns) {
      const [start] = tasks.waiting;
      if (start && this.acquireSlot(tasks)) {
        tasks.waiting.delete(start);
        // To the end.
        turns.delete(tasks);
        turns.add(tasks);
        this.queues.delete(tasks.key);
        this.queues.set(tasks.key, tasks);
        start();
      }
    }
  }

  /** Keys with waiting tasks, in their order. */
  private ranked(): Set<Tasks> {
    const { rank = () => 0 } = this.limits;
    const waiting = [...this.queues.values()].filter((tasks) => tasks.waiting.size > 0);
    const ranked = waiting.map((tasks) => ({ tasks, rank: rank(tasks.key) }));
    return new Set(ranked.toSorted((a, b) => a.rank - b.rank).map(({ tasks }) => tasks));
  }
}
