/** Numbers that look random and are the same for the same seed (mulberry32, Tommy Ettinger, public domain). */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed;
  }

  /** From 0 to less than 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 to less than the bound. */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  /** One of these. */
  of<const T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  /** So many of something. */
  list<T>(count: number, make: () => T): T[] {
    return Array.from({ length: count }, make);
  }
}
