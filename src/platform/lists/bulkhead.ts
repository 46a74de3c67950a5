/**
 * Lets a number of tasks work at once and the others wait for their turn, first come, first served: so that what is slow takes
 * a part of what there is, and never all.
 */
export class Bulkhead {
  private working = 0;
  private readonly waiting = new Set<() => void>();

  /**
   * @param places - tasks at once, at least 1
   * @param patience - how long a task waits for its turn, in milliseconds
   */
  constructor(
    private readonly places: number,
    private readonly patience: number,
  ) {}

  /** Tasks that have their turn. */
  get running(): number {
    return this.working;
  }

  /** Tasks that wait for theirs. */
  get queued(): number {
    return this.waiting.size;
  }

  /**
   * What the task gives, once it had its turn.
   *
   * @param refuse - makes the error for a task whose turn did not come in time
   */
  async run<T>(task: () => Promise<T>, refuse: () => Error): Promise<T> {
    if (this.working >= this.places) {
      await this.turn(refuse);
    } else {
      this.working += 1;
    }
    try {
      return await task();
    } finally {
      this.leave();
    }
  }

  private turn(refuse: () => Error): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.waiting.delete(enter);
        reject(refuse());
      }, this.patience);
      this.waiting.add(enter);
    });
  }

  /** Hands the place on, or frees it. */
  private leave(): void {
    const [next] = this.waiting;
    if (next) {
      this.waiting.delete(next);
      next();
    } else {
      this.working -= 1;
    }
  }
}
