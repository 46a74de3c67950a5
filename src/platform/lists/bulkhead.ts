/** How many tasks run at once, and for how long the others wait. */
export interface BulkheadLimits {
  /** Tasks at once, at least 1. */
  readonly total: number;
  /** Tasks of one owner at once, at least 1. */
  readonly perOwner: number;
  /** How long a task waits to start, in milliseconds. */
  readonly wait: number;
}

/** The tasks of an owner that wait, first come, first served: each is the function that starts it. */
type Queue = Set<() => void>;

/**
 * Runs a number of tasks at once and lets the others wait, so that slow ones take a part of a resource and never all of it. Owners
 * that wait take turns, one task each.
 */
export class Bulkhead {
  private total = 0;
  private readonly perOwner = new Map<string, number>();
  /** Owners in the order of their turns. */
  private readonly queues = new Map<string, Queue>();

  constructor(private readonly limits: BulkheadLimits) {}

  /** Tasks that run. */
  get running(): number {
    return this.total;
  }

  /** Tasks that wait. */
  get queued(): number {
    return [...this.queues.values()].reduce((sum, queue) => sum + queue.size, 0);
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
    if (this.hasRoom(owner)) {
      this.enter(owner);
    } else {
      await this.turn(owner, signal, refuse);
    }
    try {
      return await task();
    } finally {
      this.leave(owner);
    }
  }

  private hasRoom(owner: string): boolean {
    return this.total < this.limits.total && (this.perOwner.get(owner) ?? 0) < this.limits.perOwner;
  }

  private enter(owner: string): void {
    this.total += 1;
    this.perOwner.set(owner, (this.perOwner.get(owner) ?? 0) + 1);
  }

  private leave(owner: string): void {
    const left = (this.perOwner.get(owner) ?? 0) - 1;
    this.total -= 1;
    if (left > 0) {
      this.perOwner.set(owner, left);
    } else {
      this.perOwner.delete(owner);
    }
    this.startNext();
  }

  private startNext(): void {
    for (const [owner, queue] of this.queues) {
      const [start] = queue;
      if (start && this.hasRoom(owner)) {
        this.enter(owner);
        // Behind all other owners.
        this.queues.delete(owner);
        this.queues.set(owner, queue);
        start();
        return;
      }
    }
  }

  private turn(owner: string, signal: AbortSignal | undefined, refuse: () => Error): Promise<void> {
    signal?.throwIfAborted();
    const queue: Queue = this.queues.get(owner) ?? new Set();
    this.queues.set(owner, queue);
    return new Promise((resolve, reject) => {
      const stopWaiting = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', drop);
        queue.delete(start);
        if (queue.size === 0) {
          this.queues.delete(owner);
        }
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
      queue.add(start);
    });
  }
}
