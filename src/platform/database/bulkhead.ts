/** How many tasks run at once, and for how long the others wait. */
export interface BulkheadLimits {
  /** Tasks at once, at least 1. */
  readonly total: number;
  /** Tasks of one owner at once, at least 1. */
  readonly perOwner: (owner: string) => number;
  /** How long a task waits to start, in milliseconds. */
  readonly wait: number;
}

interface Tasks {
  readonly owner: string;
  running: number;
  /** Functions that start the waiting tasks, in their order. */
  readonly waiting: Set<() => void>;
}

/** Limits the tasks that run at once, so that slow ones never take all of a resource. Waiting owners take turns, one task each. */
export class Bulkhead {
  running = 0;
  /** In the order of their turns. */
  private readonly owners = new Map<string, Tasks>();

  constructor(private readonly limits: BulkheadLimits) {}

  get queued(): number {
    return [...this.owners.values()].reduce((sum, { waiting }) => sum + waiting.size, 0);
  }

  /**
   * Runs a task when it is its turn.
   *
   * @param signal - drops the task while it waits, and has no effect afterwards
   * @param refuse - makes the error for a task that has waited too long
   * @throws the signal's reason, the error of `refuse`, or what the task throws
   */
  async run<T>(owner: string, task: () => Promise<T>, signal: AbortSignal | undefined, refuse: () => Error): Promise<T> {
    signal?.throwIfAborted();
    const tasks = this.owners.get(owner) ?? { owner, running: 0, waiting: new Set() };
    this.owners.set(owner, tasks);
    await this.turn(tasks, signal, refuse);
    try {
      return await task();
    } finally {
      this.running -= 1;
      tasks.running -= 1;
      this.startNext(tasks);
    }
  }

  private async turn(tasks: Tasks, signal: AbortSignal | undefined, refuse: () => Error): Promise<void> {
    if (tasks.waiting.size === 0 && this.takeRoom(tasks)) {
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (reason: Error) => {
      tasks.waiting.delete(resolve);
      this.startNext(tasks);
      reject(reason);
    };
    const drop = () => leave(signal?.reason as Error);
    const timer = setTimeout(() => leave(refuse()), this.limits.wait);
    signal?.addEventListener('abort', drop);
    tasks.waiting.add(resolve);
    this.startNext(tasks);
    await promise.finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', drop);
    });
  }

  /** Counts a task as running if there is room for it. */
  private takeRoom(tasks: Tasks): boolean {
    const hasRoom = this.running < this.limits.total && tasks.running < this.limits.perOwner(tasks.owner);
    if (hasRoom) {
      this.running += 1;
      tasks.running += 1;
    }
    return hasRoom;
  }

  /** Forgets owners without a task, and starts the next tasks if there is room for them. */
  private startNext(changed: Tasks): void {
    // Without a total, the tasks of other owners do not depend on these.
    const turns = this.limits.total === Infinity ? new Map([[changed.owner, changed]]) : this.owners;
    for (const [owner, tasks] of turns) {
      const [start] = tasks.waiting;
      if (!start && tasks.running === 0) {
        this.owners.delete(owner);
      } else if (start && this.takeRoom(tasks)) {
        tasks.waiting.delete(start);
        // Behind all others.
        turns.delete(owner);
        turns.set(owner, tasks);
        start();
      }
    }
  }
}
