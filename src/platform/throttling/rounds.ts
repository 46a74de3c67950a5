/** How many entries each step looks at. */
const LOOKED_AT = 50;

/**
 * Goes round the entries of a map, a few at each step, and at all of them at least once in two intervals, if there are steps enough.
 * A walk that began anew at each step would pass the holes that removed entries leave in a map until it is rehashed.
 */
export class Rounds<Value> {
  private round: MapIterator<[string, Value]> | undefined;
  private next = -Infinity;

  /**
   * @param entries - which may change meanwhile
   * @param interval - from the beginning of a round to that of the next, at least
   * @param look - at an entry, which it may remove
   */
  constructor(
    private readonly entries: ReadonlyMap<string, Value>,
    private readonly interval: number,
    private readonly look: (key: string, value: Value, now: number) => void,
  ) {}

  /** @returns whether a new round began */
  step(now: number): boolean {
    const isNew = !this.round && now >= this.next;
    if (isNew) {
      this.round = this.entries.entries();
      this.next = now + this.interval;
    }
    for (let looked = 0; this.round && looked < LOOKED_AT; looked += 1) {
      const { value: entry } = this.round.next();
      if (entry) {
        this.look(entry[0], entry[1], now);
      } else {
        this.round = undefined;
      }
    }
    return isNew;
  }
}
