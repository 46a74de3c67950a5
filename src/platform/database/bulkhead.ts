/** How many tasks run at once, and for how long the others wait. */
export interface BulkheadLimits {
  /** Tasks at once, at least 1. */
  readonly total: number;
  /** Tasks of one owner at once, at least 1. */
  readonly perOwner: number;
  /** How long a task waits to start, in milliseconds. */
  readonly wait: number;
}

/** The tasks of one owner. */
interface Tasks {
  running: number;
  /** The functions that start those that wait, first come, first served. */
  readonly waiting: Set<() => void>;
}

/**
 * Runs a number of tasks at once and lets the others wait, so that slow ones take a part of a resource and never all of it. Owners
 * that wait take turns, one task each.
 */
export class Bulkhead {
  /** In the order of their turns; those without a task are left out. */
  private readonly owners = new Map<string, Tasks>();
  private total = 0;

  constructor(private readonly limits: BulkheadLimits) {}

  /** Tasks that run. */
  get running(): number {
    return this.total;
  }

  /** Tasks that wait. */
  get queued(): number {
    return [...this.owners.values()].reduce((sum, { waiting }) => sum + waiting.size, 0);
  }

  /**
   * Runs a task when it is its turn.
   *
   * @param owner - whose task it is
   * @param signal - drops the task while it waits, and has no effect afterwards
   * @param refuse - makes the error for a task that has waited too long
   * @throws the signal's reason, the error of `refuse`, or what the task throws
   */
  async run<T>(owner: string, task: () => Promise<T>, signal: AbortSignal | undefined, refuse: () => Error): Promise<T> {
    const tasks = this.owners.get(owner) ?? { running: 0, waiting: new Set() };
    if (this.hasRoom(tasks)) {
      this.enter(owner, tasks);
    } else {
      signal?.throwIfAborted();
      this.owners.set(owner, tasks);
      await this.turn(owner, tasks, signal, refuse);
    }
    try {
      return await task();
    } finally {
      tasks.running -= 1;
      this.total -= 1;
      this.forgetIdle(owner, tasks);
      this.startNext();
    }
  }

  private hasRoom({ running }: Tasks): boolean {
    return running < this.limits.perOwner && this.total < this.limits.total;
  }

  /** The owner goes behind all others. */
  private enter(owner: string, tasks: Tasks): void {
    tasks.running += 1;
    this.total += 1;
    this.owners.delete(owner);
    this.owners.set(owner, tasks);
  }

  private startNext(): void {
    for (const [owner, tasks] of this.owners) {
      const [start] = tasks.waiting;
      if (start && this.hasRoom(tasks)) {
        this.enter(owner, tasks);
        start();
        return;
      }
    }
  }

  private forgetIdle(owner: string, { running, waiting }: Tasks): void {
    if (running === 0 && waiting.size === 0) {
      this.owners.delete(owner);
    }
  }

  private turn(owner: string, tasks: Tasks, signal: AbortSignal | undefined, refuse: () => Error): Promise<void> {
    return new Promise((resolve, reject) => {
      const stopWaiting = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', drop);
        tasks.waiting.delete(start);
        this.forgetIdle(owner, tasks);
      };
      const start = () => {
        stopWaiting();
        resolve();
      };
      const drop = () => {
        stopWaiting();
        reject(signal?.reason as Error);
      };
      const timer = setTimeout(() => {
        stopWaiting();
        reject(refuse());
      }, this.limits.wait);
      signal?.addEventListener('abort', drop);
      tasks.waiting.add(start);
    });
  }
}
